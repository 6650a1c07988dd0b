"""Works on one request, in its own process: imports the file once, then traces each target in a forked child."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import linecache
import sys
import time
from collections.abc import Collection, Sequence
from functools import partial
from types import FrameType

from fx_lsp.agent.capturing.modules import MODULES
from fx_lsp.agent.importing.file_loading import FileLoader
from fx_lsp.agent.importing.import_tolerance import failures_tolerated
from fx_lsp.agent.importing.package_imports import PackageImports
from fx_lsp.agent.importing.workspace_importer import Workspace, third_party
from fx_lsp.agent.messages import Failure, Heartbeat, Outcome, Report, Step, Trace
from fx_lsp.agent.missing.debuggers import pass_over_breakpoints
from fx_lsp.agent.missing.device_redirection import Devices, stand_in_for_accelerators
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.limits import (
    grace,
    is_out_of_memory,
    lift_memory_limit,
    limit_memory,
    seconds_in_words,
    time_limit,
)
from fx_lsp.agent.processes.priority import keep_to_one_thread
from fx_lsp.agent.processes.watchdog import Gone, Hear
from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.running.meta_run import MODULES_FOR_META
from fx_lsp.agent.sandbox.denial_reports import reporting_denials
from fx_lsp.agent.traceback_steps import chain_of_error, chain_of_frame, describe
from fx_lsp.agent.tracing.attempt import Attempt, CostlyImport, Imported, run_attempt
from fx_lsp.agent.tracing.target_rounds import TargetRounds
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fxcore.accelerators import OnCpu, may_use_accelerator


class TraceSession:
    """Handles one `Trace` request."""

    def __init__(self, request: Trace, builtin: Collection[str], emit: Emit) -> None:
        self._request = request
        self.workspace = Workspace(request, builtin)
        self.emit: Emit = reporting_denials(emit, self.workspace.owns)

    def run(self) -> None:
        """Import, trace, and emit `Imported` and one `Report` for each target."""
        file = self.imported()
        if file is None:
            return
        runs_on_meta = self._request.details or self._request.costs
        if modules := MODULES if self._request.capture != "fx" else MODULES_FOR_META if runs_on_meta else ():
            self._load(modules)
        children = ForkedChildren(heartbeat=lambda: self.emit(Heartbeat(self._request.id)))
        limit = self._request.limits.seconds
        seconds = limit + grace(limit)

        def start(attempt: Attempt, hear: Hear, gone: Gone) -> None:
            children.fork(partial(run_attempt, attempt, self._request, file), seconds=seconds, hear=hear, gone=gone)

        for _ in TargetRounds(self._request, file.classes, file.notices, start, self.emit).steps():
            children.wait()

    def imported(self) -> ImportedFile | None:
        """Import the file; None if the import failed, in which case the failure has been reported.

        This restricts the process, which is used only for the user's code.
        """
        limit_memory(self._request.limits.memory_mb)
        stand_in_for_accelerators()
        pass_over_breakpoints()
        keep_to_one_thread()
        last = next(reversed(sys.modules))
        packages = PackageImports(self.workspace.owns, lambda: self.emit(Heartbeat(self._request.id)))
        seed()
        try:
            name = self.workspace.enter()
            seconds = self._request.limits.seconds
            with time_limit(seconds, self._import_timed_out, packages.grant), failures_tolerated(), Devices():
                loaded = FileLoader(self.workspace, name).run()
        except BaseException as error:
            self._import_failed(error)
            return None
        if any(may_use_accelerator("".join(linecache.getlines(path))) for path in self.workspace.dependencies):
            OnCpu().__enter__()  # type: ignore[no-untyped-call]  # for as long as this process lives, and those that it forks
        new = [*itertools.takewhile(lambda name: name != last, reversed(sys.modules))][::-1]
        self._emit_imported(third_party(new, self.workspace))
        return ImportedFile(self.workspace, vars(loaded.module), loaded.complete, loaded.notices)

    def _load(self, modules: tuple[str, ...]) -> None:
        """Import what all targets need, before children are forked, and have the agent preload it."""
        self._emit_imported(modules)
        for name in modules:
            with contextlib.suppress(ImportError):  # other versions of torch have other modules
                importlib.import_module(name)

    def _import_failed(self, error: BaseException) -> None:
        chain = chain_of_error(error, self.workspace.owns)
        if is_out_of_memory(error):
            lift_memory_limit()
            failure = Failure("memory-limit", describe(error), chain)
            self._import_exceeded("out-of-memory", failure, "the import needed too much memory")
        else:
            self._give_up("not-imported", Failure("import", describe(error), chain))

    def _import_timed_out(self, frame: FrameType | None) -> None:
        error = f"the import took longer than {seconds_in_words(self._request.limits.seconds)}"
        failure = Failure("time-limit", error, chain_of_frame(frame, self.workspace.owns))
        self._import_exceeded("timed-out", failure, error)

    def _import_exceeded(self, outcome: Outcome, failure: Failure, why: str) -> None:
        """Report that the import exceeded a limit, having asked the agent to run only the definitions if that may help.

        Which limit a file exceeds first depends on how busy the machine is, so that all are treated alike.
        """
        if self._request.costly_work is None and (work := _work_of_module(failure.chain)):
            self.emit(CostlyImport(Failure("definitions-only", why, (work,))))
        self._give_up(outcome, failure)

    def _emit_imported(self, elsewhere: tuple[str, ...] = ()) -> None:
        self.emit(Imported(self.workspace.dependencies, elsewhere, self.workspace.take_compiled()))

    def _give_up(self, outcome: Outcome, failure: Failure) -> None:
        self._emit_imported()
        for target in self._request.targets:
            self.emit(Report(self._request.id, target.key, outcome, (failure,), processor_seconds=time.process_time()))


def _work_of_module(chain: Sequence[Step]) -> Step | None:
    """The innermost statement at the top level of a file in a call chain that is no import; None if there is none.

    A call that builds a model may import what it needs, and end there or not, depending on how busy the machine is.
    """
    return next((step for step in reversed(chain) if step.name == "<module>" and not _is_import(step)), None)


def _is_import(step: Step) -> bool:
    return linecache.getline(step.span.file, step.span.line).lstrip().startswith(("import ", "from "))
