"""The failures of a program with `torch.export` or `torch.compile`, before and after an edit."""

from __future__ import annotations

from collections import Counter
from functools import partial

from fx_lsp.agent.messages import Report, Trace
from fx_lsp.agent.proving.failure_matching import FoundFailures, place_of, span_of
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.tracing.capture_run import CaptureRun
from fx_lsp.agent.tracing.trace_target import ImportedFile, InconclusiveOnMeta

_UNCERTAIN = frozenset({"export-error", "compile-error"})
"""The kinds of failure that an earlier assumption may cause."""


def captured_failures(apart: ChildRunner, file: ImportedFile, request: Trace) -> FoundFailures:
    """The places that stop the capture of the only target of ``request``. Raises `ProofEnded` if it was not tried."""
    report = apart(partial(_report, file, request, on_meta=True)) or apart(
        partial(_report, file, request, on_meta=False)
    )
    if report is None or report.outcome not in ("traced", "failed"):
        raise ProofEnded("untried", (report and report.reason) or "the target could not be captured")
    owns = file.workspace.owns
    placed = [(place_of(failure, owns), failure) for failure in report.failures]
    spans = [(place, span_of(failure, owns)) for place, failure in placed]
    return FoundFailures(
        Counter(place for place, _ in placed),
        Counter(place for place, failure in placed if failure.kind not in _UNCERTAIN),
        frozenset((place, span.file, span.line) for place, span in spans if span),
        complete=report.outcome == "traced",  # behind a failure, there may be others that were not found
        doubtful=False,
    )


def _report(file: ImportedFile, request: Trace, *, on_meta: bool) -> Report | None:
    """What a capture comes to; None if it has to be tried again with real weights."""
    run = CaptureRun(request, request.targets[0], file)
    try:
        report = run.run(on_meta=on_meta)
    except InconclusiveOnMeta:
        return None
    ChildRunner.go_on()
    return run.further(report) if report.outcome == "failed" else report
