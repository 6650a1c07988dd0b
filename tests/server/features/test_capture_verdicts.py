"""What a lens and a hover say about the captures of a target."""

import dataclasses

import pytest

from fx_lsp.agent.messages import Failure, Outcome, Recipe, Report, Snippet, Span, Target
from fx_lsp.analysis.results import Traced
from fx_lsp.documents.documents import Place
from fx_lsp.server.features.capture_verdicts import in_full
from fx_lsp.server.features.target_summary import summary

SPAN = Span("/w/net.py", 1, 6, 1, 9)


def traced(
    outcome: Outcome, *failures: Failure, dynamic_batch: bool | None = None, reason: str = "", unfinished: str = ""
) -> Traced:
    """A target of which this is known."""
    target = Target("class:Net", "Net", SPAN, Recipe(Snippet("Net()", 1)))
    report = Report(1, target.key, outcome, failures, inputs="x: [2, 3]", dynamic_batch=dynamic_batch, reason=reason)
    report = dataclasses.replace(report, unfinished=unfinished)
    return Traced(target, Place("/w/net.py", 6, 9, 0), report)


@pytest.mark.parametrize(
    ("exported", "shown"),
    [
        (traced("traced", dynamic_batch=True), "✓ export (dynamic batch)"),
        (traced("traced", dynamic_batch=False), "✓ export (fixed batch)"),
        (traced("traced"), "✓ export"),
        (traced("failed", Failure("export-error", "no")), "✗ export: 1 place"),
        (traced("failed", Failure("export-error", "no"), unfinished="it was slow"), "✗ export: 1 or more places"),
        (traced("timed-out", Failure("time-limit", "slow")), "✗ export: it took too long"),
        (traced("unchecked", reason="it needs torch 2.8"), "export: not checked"),
    ],
)
def test_a_lens_has_one_part_for_each_capture(exported: Traced, shown: str) -> None:
    failed = traced("failed", Failure("len", "no"))
    assert summary(failed, {"export": exported}, tracing=False) == f"✗ fx: 1 place · {shown}"
    assert summary(traced("traced"), {"export": exported}, tracing=False) == f"✓ fx · {shown}"


@pytest.mark.parametrize(
    ("exported", "shown"),
    [
        (traced("traced", dynamic_batch=True), "it can be exported for `x: [2, 3]`, and with a batch of any size."),
        (
            traced("traced", dynamic_batch=False),
            "it can be exported for `x: [2, 3]`, but only with this size of the batch.",
        ),
        (
            traced("traced", unfinished="it was slow"),
            "it can be exported for `x: [2, 3]`. Whether the batch can be dynamic is not known: it was slow.",
        ),
        (traced("unchecked", reason="no inputs were found"), "not checked: no inputs were found."),
        (traced("not-built", Failure("build", "no")), "not checked: it can't be built."),
        (traced("failed", Failure("export-error", "no")), "it can't be exported for `x: [2, 3]`."),
        (traced("timed-out"), "it took too long."),
    ],
)
def test_a_hover_says_what_a_verdict_is_for(exported: Traced, shown: str) -> None:
    assert in_full("export", exported, is_judged=True) == f"`torch.export`: {shown}"
    assert exported.report
    fails = exported.report.outcome in ("failed", "timed-out")
    told = in_full("export", exported, is_judged=False)
    assert told.endswith("so this is not shown as a problem.*") if fails else told.endswith(shown)


def test_a_hover_says_that_recompilations_are_not_known() -> None:
    told = in_full("compile", traced("traced", unfinished="it was slow"), is_judged=True)
    assert told.endswith(". Whether each size of the batch makes torch compile it again is not known: it was slow.")


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        ("not-imported", "✗ the file can't be imported"),
        ("not-built", "✗ it can't be built"),
        ("skipped", ""),
    ],
)
def test_what_cannot_be_captured_at_all_has_one_verdict(outcome: Outcome, shown: str) -> None:
    assert summary(traced(outcome), {"export": traced("traced")}, tracing=False) == shown
