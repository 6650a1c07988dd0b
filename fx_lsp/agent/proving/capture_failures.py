"""What `torch.export` or `torch.compile` makes of a program, before and after an edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.messages import Capture, Report, Trace
from fx_lsp.agent.proving.failure_matching import FoundFailures, place_of, span_of
from fx_lsp.agent.proving.result_comparison import difference_in_graph
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.trial_runs import Program, ProgramRuns, check_outputs
from fx_lsp.agent.running.observation import Input
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


def check_captured(capture: Capture, program: Program, runs: ProgramRuns) -> None:
    """Raises `ProofEnded` if the program can be captured and the result does not return what ``runs`` has recorded.

    Only the first input is tried, since a capture holds for its sizes only. Buffers and gradients are not compared.
    """
    expected = replace(runs.observations[0], buffers={}, gradients=None)
    first = replace(runs, inputs=runs.inputs[:1], names=frozenset(), observations=(expected,))
    try:
        captured = _captured(capture, program.built.root, first.inputs[0])
    except Exception:  # another failure is left
        return
    check_outputs(captured, "the captured program", program.state, first, difference_in_graph)


def _captured(capture: Capture, root: Callable[..., Any], given: Input) -> Callable[..., Any]:
    from fx_lsp.agent.capturing.export_capture import exported  # loads the machinery of torch.compile
    from fx_lsp.agent.capturing.torch_internals import silence

    with silence():
        if capture == "export":
            return exported(root, given, None).module()
        torch.compile(root, backend="eager", fullgraph=True)(*given.args, **given.kwargs)
        return torch.compile(root, backend="eager", fullgraph=True)


def _report(file: ImportedFile, request: Trace, *, on_meta: bool) -> Report | None:
    """What a capture comes to; None if it has to be tried again with real weights."""
    run = CaptureRun(request, request.targets[0], file)
    try:
        report = run.run(on_meta=on_meta)
    except InconclusiveOnMeta:
        return None
    ChildRunner.go_on()
    return list(run.further(report))[-1] if report.outcome == "failed" else report
