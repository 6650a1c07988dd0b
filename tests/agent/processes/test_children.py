"""How long the agent's children live, and which of what they say counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fx_lsp.agent.messages import (
    Costs,
    Details,
    Heartbeat,
    ModuleCosts,
    NodeCosts,
    Proof,
    Prove,
    Recipe,
    Report,
    Snippet,
    Span,
    Target,
    Tensors,
    Trace,
    Uncounted,
)
from fx_lsp.agent.serving.reply_filter import is_answer, only_strings
from fx_lsp.agent.wire import HEADER, decode, encode

TALKS = """
import time
from fx_lsp.agent.processes.children import ForkedChildren
from fx_lsp.agent.messages import Heartbeat

def talk(emit):
    while True:
        emit(Heartbeat(1))
        time.sleep(0.05)

heard, gone = [], []
children = ForkedChildren()
children.fork(talk, seconds=60, longest=1, hear=heard.append, gone=gone.append)
while children:
    children.wait()
print(len(heard) > 3, gone[0].overdue, gone[0].status)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
def test_a_child_that_never_stops_talking_is_ended() -> None:
    root = str(Path(__file__).parents[3])
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
        (Heartbeat(3), True),
        (Heartbeat(2), False),
        (Proof(3, "proven", ""), False),
        ("Net", False),
    ],
)
def test_only_answers_to_what_was_asked_count(item: object, counts: bool) -> None:
    assert is_answer(item, TRACE) is counts


SOUND = ModuleCosts("", "Net", Tensors(2, {"float32": 8}), 2, Tensors(), 10, None, 0)


@pytest.mark.parametrize(
    ("costs", "counts"),
    [
        (Costs(3, "Net", (SOUND,), (NodeCosts("add", 0, 8),), "x: [2]", (Uncounted("aten.add", 1, 2),), ("a",)), True),
        (Costs(3, "Net", reason="it is too large"), True),
        (Costs(2, "Net"), False),
        (Costs(3, "Net", (ModuleCosts("", "Net", flops=-1),)), False),
        (Costs(3, "Net", (ModuleCosts("", "Net", flops=10**400),)), False),
        (Costs(3, "Net", (ModuleCosts("", "Net", flops=1.5),)), False),  # type: ignore[arg-type]
        (Costs(3, "Net", (ModuleCosts("", "Net", parameters=None),)), False),  # type: ignore[arg-type]
        (Costs(3, "Net", (ModuleCosts("", "Net", Tensors(1, {"float32": "much"})),)), False),  # type: ignore[dict-item]
        (Costs(3, "Net", (), (NodeCosts("add", True, 8),)), False),
        (Costs(3, "Net", None), False),  # type: ignore[arg-type]
        (Costs(3, "Net", unknown=(5,)), False),  # type: ignore[arg-type]
        (Costs(3, "Net", uncounted=(Uncounted("aten.add", 0, 2),)), False),
    ],
)
def test_costs_count_only_if_they_can_be_shown(costs: Costs, counts: bool) -> None:
    assert is_answer(decode(encode(costs)[HEADER.size :]), TRACE) is counts


def test_a_proof_answers_a_request_for_one() -> None:
    request = Prove("net.py", NET, NET, (), {}, {}, id=3)
    assert [is_answer(Proof(number, "proven", ""), request) for number in (3, 4)] == [True, False]
    assert not is_answer(Report(3, "Net", "traced"), request)


def test_only_strings_are_taken_for_paths() -> None:
    assert (only_strings(("a", 5, {}, "b")), only_strings(None), only_strings("abc")) == (("a", "b"), (), ())
