"""How long the agent's children live, and which of what they say counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fx_lsp.agent.asked import is_answer, texts
from fx_lsp.agent.messages import Details, Proof, Prove, Recipe, Report, Snippet, Span, Target, Trace, Waiting

TALKS = """
import time
from fx_lsp.agent.children import Brood
from fx_lsp.agent.messages import Waiting

def talk(emit):
    while True:
        emit(Waiting(1))
        time.sleep(0.05)

heard, gone = [], []
brood = Brood()
brood.fork(talk, seconds=60, longest=1, hear=heard.append, gone=gone.append)
while brood:
    brood.wait()
print(len(heard) > 3, gone[0].overdue, gone[0].status)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
def test_a_child_that_talks_for_ever_ends_all_the_same() -> None:
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", TALKS], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout == "True True -9\n", done.stderr


SPAN = Span("net.py", 1, 0, 1, 1)
NET = Target("Net", "Net", SPAN, Recipe(Snippet("Net()", 1)))
TRACE = Trace("net.py", (NET,), id=3)


@pytest.mark.parametrize(
    ("item", "counts"),
    [
        (Report(3, "Net", "traced"), True),
        (Report(2, "Net", "traced"), False),
        (Report(3, "Other", "traced"), False),
        (Details(3, "Net", (), ()), True),
        (Details(4, "Net", (), ()), False),
        (Waiting(3), True),
        (Waiting(2), False),
        (Proof(3, "proven", ""), False),
        ("Net", False),
    ],
)
def test_only_answers_to_what_was_asked_count(item: object, counts: bool) -> None:
    assert is_answer(item, TRACE) is counts


def test_a_proof_answers_a_request_for_one() -> None:
    request = Prove("net.py", NET, NET, (), {}, {}, id=3)
    assert [is_answer(Proof(number, "proven", ""), request) for number in (3, 4)] == [True, False]
    assert not is_answer(Report(3, "Net", "traced"), request)


def test_paths_are_text() -> None:
    assert (texts(("a", 5, {}, "b")), texts(None), texts("abc")) == (("a", "b"), (), ())
