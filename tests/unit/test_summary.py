import pytest

from fx_lsp.agent.messages import Failure, Outcome, Recipe, Report, Snippet, Span, Step, Target
from fx_lsp.analysis import Traced
from fx_lsp.documents import Place
from fx_lsp.features.summary import LONGEST, counted, summary

SPAN = Span("/model.py", 1, 0, 1, 1)
TARGET = Target("key", "Net", SPAN, Recipe(Snippet("Net()", 1)))


def said(report: Report | None, *, tracing: bool = False) -> str:
    return summary(Traced(TARGET, Place("/model.py", 0, 1, 0), report), tracing=tracing)


def failure(line: int) -> Failure:
    return Failure("len", "TypeError", (Step("f", Span("/model.py", line, 0, line, 1)),))


def test_it_says_what_came_of_a_trace() -> None:
    assert said(None) == "not traced"
    assert said(None, tracing=True) == "tracing…"
    assert said(Report(1, "key", "traced", nodes=1)) == "✓ traces · 1 node"
    assert said(Report(1, "key", "traced", nodes=311, parameters=25_557_032)) == (
        "✓ traces · 311 nodes · 25.6 M parameters"
    )
    assert said(Report(1, "key", "failed", (failure(1),))) == "✗ 1 place"
    assert said(Report(1, "key", "failed", (failure(1), failure(2), failure(2)))) == "✗ 2 places"
    assert said(Report(1, "key", "skipped")) == ""
    assert said(Report(1, "key", "unchecked", reason="It lacks einops.")) == "could not check: It lacks einops"
    assert len(said(Report(1, "key", "unchecked", reason="long " * 99))) == len("could not check: ") + LONGEST


@pytest.mark.parametrize("outcome", ["not-imported", "not-built", "timed-out", "out-of-memory", "crashed"])
def test_every_other_ending_has_its_words(outcome: Outcome) -> None:
    assert said(Report(1, "key", outcome)).startswith("✗ ")


def test_numbers_are_as_people_say_them() -> None:
    assert [counted(number) for number in (0, 999, 1000, 3_902, 25_557_032, 7_000_000_000)] == [
        "0",
        "999",
        "1 k",
        "3.9 k",
        "25.6 M",
        "7 G",
    ]
