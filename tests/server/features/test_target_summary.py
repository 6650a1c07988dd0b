import pytest

from fx_lsp.agent.messages import Costs, Failure, ModuleCosts, Outcome, Recipe, Report, Snippet, Span, Step, Target
from fx_lsp.analysis.findings import Finding
from fx_lsp.analysis.results import Traced
from fx_lsp.documents.documents import Place
from fx_lsp.server.features.target_summary import LONGEST, summary

SPAN = Span("/model.py", 1, 0, 1, 1)
TARGET = Target("key", "Net", SPAN, Recipe(Snippet("Net()", 1)))


def said(report: Report | None, *, tracing: bool = False) -> str:
    return summary(Traced(TARGET, Place("/model.py", 0, 1, 0), report), tracing=tracing)


def failure(line: int) -> Failure:
    return Failure("len", "TypeError", (Step("f", Span("/model.py", line, 0, line, 1)),))


def test_a_summary_says_how_a_trace_ended() -> None:
    assert said(None) == "not traced"
    assert said(None, tracing=True) == "tracing…"
    assert said(Report(1, "key", "traced", nodes=1)) == "✓ traces · 1 node"
    assert said(Report(1, "key", "traced", nodes=311, parameters=25_557_032)) == (
        "✓ traces · 311 nodes · 25.6 M parameters"
    )
    assert said(Report(1, "key", "traced", nodes=2, reason="without its optional inputs")) == (
        "✓ traces without its optional inputs · 2 nodes"
    )
    assert said(Report(1, "key", "failed", (failure(1),))) == "✗ 1 place"
    assert said(Report(1, "key", "failed", (failure(1), failure(2), failure(2)))) == "✗ 2 places"
    assert said(Report(1, "key", "skipped")) == ""
    assert said(Report(1, "key", "unchecked", reason="It lacks einops.")) == "could not be checked: It lacks einops"
    assert len(said(Report(1, "key", "unchecked", reason="long " * 99))) == len("could not be checked: ") + LONGEST


def test_while_a_report_is_partial_the_places_that_were_known_behind_it_count() -> None:
    report = Report(1, "key", "failed", (failure(1),), partial=True)
    place = Place("/model.py", 0, 1, 0)
    kept = tuple(Finding(failure(line), "", place, (), (), 0, "warning") for line in (2, 3, 3))
    assert summary(Traced(TARGET, place, report, kept=kept), tracing=True) == "✗ 3 places"


@pytest.mark.parametrize("outcome", ["not-imported", "not-built", "timed-out", "out-of-memory", "crashed"])
def test_every_other_outcome_has_a_summary(outcome: Outcome) -> None:
    assert said(Report(1, "key", outcome)).startswith("✗ ")


def test_the_operations_of_one_call_follow_once_they_are_counted() -> None:
    report = Report(1, "key", "traced", nodes=311, parameters=25_557_032)
    traced = Traced(TARGET, Place("/model.py", 0, 1, 0), report)
    for given, shown in (
        ("x: [1, 3, 224, 224]", "[1, 3, 224, 224]"),
        ("x: [1], mask: None", "x: [1], mask: None"),
    ):
        costs = Costs(1, "key", (ModuleCosts("", "Net", flops=8_180_000_000),), input=given)
        assert summary(traced, tracing=False, costs=costs) == (
            f"✓ traces · 311 nodes · 25.6 M parameters · 8.18 GFLOPs at {shown}"
        )
    unknown = Costs(1, "key", (ModuleCosts("", "Net"),), reason="there is no input")
    assert summary(traced, tracing=False, costs=unknown) == "✓ traces · 311 nodes · 25.6 M parameters"
