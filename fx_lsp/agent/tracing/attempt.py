"""One attempt at a target, in its own process that has imported the file, and the messages that it emits."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import sys
import time
from dataclasses import dataclass
from functools import partial
from types import FrameType

from fx_lsp.agent.building.build import Built, build_target
from fx_lsp.agent.building.shared_build import SharedBuild
from fx_lsp.agent.importing.package_imports import PackageImports
from fx_lsp.agent.inventing.plan_memory import PLANS, Invented
from fx_lsp.agent.messages import Capture, Failure, Heartbeat, Report, Target, Trace
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.processes.counted_steps import CountedSteps
from fx_lsp.agent.processes.frozen_objects import freeze
from fx_lsp.agent.processes.limits import (
    is_out_of_memory,
    lift_memory_limit,
    limit_memory,
    seconds_in_words,
    time_limit,
)
from fx_lsp.agent.processes.priority import give_way_to_traces
from fx_lsp.agent.running.meta_run import MODULES_FOR_META
from fx_lsp.agent.sandbox.confinement import confine_alone
from fx_lsp.agent.sandbox.denial_reports import reporting_denials
from fx_lsp.agent.traceback_steps import chain_of_frame, describe, is_outside_python
from fx_lsp.agent.tracing.capture_run import CaptureRun
from fx_lsp.agent.tracing.submodule_targets import Host, held_classes
from fx_lsp.agent.tracing.trace_target import ImportedFile, InconclusiveOnMeta, TargetRun, is_explorable
from fx_lsp.agent.wire import wire_message


@wire_message
@dataclass(frozen=True)
class Imported:
    """A message to the agent: what has been imported so far."""

    dependencies: tuple[str, ...]
    """The files of the workspace that were imported."""
    third_party: tuple[str, ...] = ()
    """Modules from outside the workspace that the agent had not loaded."""
    compiled: tuple[str, ...] = ()
    """Files of the workspace, as saved on disk, that had to be compiled."""


@wire_message
@dataclass(frozen=True)
class CostlyImport:
    """A message to the agent: the import exceeded a limit in a statement at the top level of a workspace file."""

    work: Failure
    """A ``definitions-only`` notice about that statement."""


@wire_message
@dataclass(frozen=True)
class RetryOnCpu:
    """The result on the meta device is inconclusive: the target has to be built again, on the CPU."""

    certain: Report | None = None
    """What counts if the CPU has no room for the target."""


@wire_message
@dataclass(frozen=True)
class HasParts:
    """What the module that was built shows about other targets."""

    keys: tuple[str, ...]
    """The targets whose classes its submodules have."""
    inherited: tuple[str, ...] = ()
    """The targets from whose classes it or a submodule inherits ``forward``."""


@dataclass(eq=False)
class Attempt:
    """One attempt at a target: what to build, and on which device."""

    target: Target
    on_meta: bool = True
    answered: bool = False
    last: Report | None = None
    """The last report on ``target``."""
    certain: Report | None = None
    """The report on ``target`` that counts if this attempt exceeds a limit."""
    parts: tuple[Target, ...] = ()
    """The targets to report on instead of ``target``, which has submodules of their classes."""
    of_heirs: bool = False
    """Whether the submodules, or ``target`` itself, are of subclasses that inherit ``forward`` from these classes."""


def run_attempt(attempt: Attempt, request: Trace, file: ImportedFile, emit: Emit) -> None:
    """Build and trace, and emit the results. This restricts the process, which is used only for the user's code."""
    if request.capture != "fx":
        give_way_to_traces()
    restrict(request)
    make_attempt(attempt, request, file, emit)


def restrict(request: Trace) -> None:
    """Limit this process's memory as ``request`` says, and give up the rights that only importing needs."""
    gc.enable()  # a kept process has none
    freeze()  # it would copy all that was imported
    limit_memory(request.limits.memory_mb)
    confine_alone()


def make_attempt(
    attempt: Attempt, request: Trace, file: ImportedFile, emit: Emit, shared: SharedBuild | None = None
) -> None:
    """Build and trace in this process, which is restricted. If ``shared`` is given, the target was built ahead."""

    def emit_noted(item: object) -> None:
        emit(with_notices(item, file.notices) if isinstance(item, Report) else item)

    told = reporting_denials(emit_noted, file.workspace.owns)
    PLANS.switch_on()
    if request.capture != "fx":
        _capture(attempt, request, file, told)
        return
    missing = [name for name in MODULES_FOR_META if name not in sys.modules]
    if attempt.parts:
        _trace_parts(attempt, request, file, told)
    else:
        _trace(attempt, request, file, told, shared)
    if loaded := tuple(name for name in missing if name in sys.modules):
        emit(Imported(file.workspace.dependencies, loaded))


def _capture(attempt: Attempt, request: Trace, file: ImportedFile, emit: Emit) -> None:
    """Capture one target by another means than a trace, and emit the report; parts of targets are not captured."""
    if attempt.parts:
        return
    run = CaptureRun(request, attempt.target, file)

    def timed_out(frame: FrameType | None) -> None:
        error = f"the capture took longer than {seconds_in_words(request.limits.seconds)}"
        emit(run.report("timed-out", Failure("time-limit", error, chain_of_frame(frame, is_outside_python))))

    steps = CountedSteps(lambda: emit(Heartbeat(request.id)))
    try:
        with time_limit(request.limits.seconds, timed_out, steps.grant):
            answer = run.run(on_meta=attempt.on_meta)
    except InconclusiveOnMeta:
        emit(RetryOnCpu())
        return
    if request.details:  # only what was captured is wanted, not what takes other runs
        emit(answer)
        _describe(run, request, emit)
        return
    if answer.outcome in ("failed", "traced"):
        answer = _completed(run, answer, request, emit)
    emit(answer)


def _completed(run: CaptureRun, answer: Report, request: Trace, emit: Emit) -> Report:
    """``answer``, which is emitted at once, with what takes other runs; if they exceed a limit, this is noted."""
    emit(dataclasses.replace(answer, partial=True))
    limits = request.limits

    def ended(why: str) -> Report:
        return unfinished(answer, request.capture, why)

    def too_slow(_frame: FrameType | None) -> None:
        emit(_timed(ended(f"took longer than {seconds_in_words(limits.seconds)}")))

    def tell(report: Report) -> None:
        nonlocal answer
        answer = report

    try:
        with time_limit(limits.seconds, too_slow):
            run.complete(answer, tell)
    except Exception as error:
        if is_out_of_memory(error):
            lift_memory_limit()
            return ended(f"took more than {limits.memory_mb} MiB of memory")
        return ended(f"raised {describe(error)}")
    return answer


def unfinished(answer: Report, capture: Capture, why: str) -> Report:
    """The report on a capture after which `CaptureRun.complete` was ended; ``why`` is the end of a sentence."""
    if answer.outcome == "failed":
        what = "the search for further failures"
    elif capture == "export":
        what = "the export with a dynamic batch"
    else:
        what = "the search for recompilations"
    return dataclasses.replace(answer, partial=False, unfinished=f"{what} {why}")


def _timed(report: Report) -> Report:
    return dataclasses.replace(report, processor_seconds=time.process_time())


def with_notices(report: Report, notices: tuple[Failure, ...]) -> Report:
    """The report with the notices of the file's import added."""
    return dataclasses.replace(report, notices=(*report.notices, *notices))


def _trace_parts(attempt: Attempt, request: Trace, file: ImportedFile, emit: Emit) -> None:
    """Trace the parts of one target, and emit reports on the targets for the parts' classes."""
    known, seconds = file.workspace.dependencies, request.limits.seconds
    host = Host(request.id, file, partial(_host, attempt, file), of_heirs=attempt.of_heirs)
    for part in attempt.parts:
        emit(Heartbeat(request.id))  # each part may take the whole time limit
        steps = CountedSteps(lambda: emit(Heartbeat(request.id)))
        with time_limit(seconds, lambda frame: None, steps.grant), contextlib.suppress(Exception):
            report = host.report(part)
            if report is not None:
                emit(report)
    if attempt.target.key not in {target.key for target in request.targets}:  # it was not built before
        emit(HasParts((), host.inherited(request.targets)))
    if file.workspace.dependencies != known:
        emit(Imported(file.workspace.dependencies, compiled=file.workspace.take_compiled()))
    for run in host.traced:
        if request.details:
            _describe(run, request, emit)
        if request.costs:
            _count(run, request, emit)


def _host(attempt: Attempt, file: ImportedFile) -> Built:
    """Build the module that holds the parts.

    It is built on the CPU if its recipe is from another file and fails on the meta device.
    """
    workspace = file.workspace
    build = partial(build_target, attempt.target, workspace.file, file.namespace, workspace.folders)
    try:
        return build(on_meta=attempt.on_meta)
    except Exception:
        if not (attempt.on_meta and attempt.target.recipe.file):
            raise
        return build(on_meta=False)


def _trace(attempt: Attempt, request: Trace, file: ImportedFile, emit: Emit, shared: SharedBuild | None) -> None:
    """Trace one target and emit the results."""
    seconds, on_meta = request.limits.seconds, attempt.on_meta
    run = TargetRun(request.id, attempt.target, file, shared=shared)

    def timed_out(frame: FrameType | None) -> None:
        error = f"the trace took longer than {seconds_in_words(seconds)}"
        emit(run.report("timed-out", Failure("time-limit", error, chain_of_frame(frame, is_outside_python))))

    known = file.workspace.dependencies
    packages = PackageImports(file.workspace.owns, lambda: emit(Heartbeat(request.id)))
    steps = CountedSteps(lambda: emit(Heartbeat(request.id)))
    try:
        with time_limit(seconds, timed_out, lambda frame: packages.grant(frame) or steps.grant(frame)):
            answer: object = run.run(on_meta=on_meta)
    except InconclusiveOnMeta as inconclusive:
        certain = inconclusive.certain
        answer = RetryOnCpu(None if certain is None else with_notices(certain, file.notices))
    if file.workspace.dependencies != known:
        emit(Imported(file.workspace.dependencies, compiled=file.workspace.take_compiled()))
    if any(held := held_classes(run.root, request.targets, file)):
        emit(HasParts(*held))
    if PLANS.known:  # proofs need not invent arguments again
        emit(Invented(attempt.target.key, PLANS.known))
    explored: Report | None = None
    if isinstance(answer, Report) and is_explorable(answer):
        emit(dataclasses.replace(answer, partial=True))
        # The first failure is already reported: an error from here on costs only the further failures.
        with time_limit(seconds, lambda frame: None), contextlib.suppress(Exception):
            explored = run.explore(answer, on_meta=on_meta, for_details=request.details)
            emit(explored)
    else:
        emit(answer)
    if isinstance(answer, Report) and answer.outcome in ("traced", "failed") and request.details:
        _describe(run, request, emit)
    if isinstance(answer, Report) and answer.outcome == "traced" and request.costs:
        _count(run, request, emit)
    if explored is not None:
        with time_limit(seconds, lambda frame: None), contextlib.suppress(Exception):
            emit(run.explore_other_sides(explored, on_meta=on_meta))


def _describe(run: TargetRun, request: Trace, emit: Emit) -> None:
    """Emit the details of what a run traced or, if it failed, of what it recorded."""
    with time_limit(request.limits.seconds, lambda frame: None), contextlib.suppress(Exception):
        for details in run.details(request.inputs):
            emit(details)


def _count(run: TargetRun, request: Trace, emit: Emit) -> None:
    """Emit what the program costs that a run traced."""
    with time_limit(request.limits.seconds, lambda frame: None), contextlib.suppress(Exception):
        emit(run.costs(request.inputs))
