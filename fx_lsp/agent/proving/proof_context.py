"""What every step of a proof needs: the edit, the workspace with one of the two texts, and children to run jobs in."""

from __future__ import annotations

import os
from collections.abc import Collection

from fx_lsp.agent.messages import Prove, Report, Target, Trace
from fx_lsp.agent.proving.capture_failures import captured_failures
from fx_lsp.agent.proving.failed_builds import FailedBuilds
from fx_lsp.agent.proving.failure_matching import (
    FoundFailures,
    Places,
    check_capture_places,
    check_places,
    explored_failures,
)
from fx_lsp.agent.proving.proposed_edit import ProposedEdit
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.tracing.trace_request import TraceSession
from fx_lsp.agent.tracing.trace_target import ImportedFile


class ProofContext:
    """The request for one proof."""

    def __init__(self, request: Prove, builtin: Collection[str]) -> None:
        """``builtin`` is as in `Workspace`."""
        self.request = request
        self.edit = ProposedEdit(request)
        self._builtin = builtin
        self._runner: tuple[int, ChildRunner | None] = (0, None)

    def apart(self) -> ChildRunner:
        """The runner of this process: a signal wakes only the runner that was created last."""
        pid, runner = self._runner
        if runner is None or pid != os.getpid():
            runner = ChildRunner(self.request.limits.seconds, self.request.limits.memory_mb)
            self._runner = os.getpid(), runner
        return runner

    def import_old(self) -> ImportedFile:
        """Import the file as it is before the edit. Raises `ProofEnded` if that fails."""
        return self._imported(self.request.target, self.request.overlays)

    def import_new(self) -> ImportedFile:
        """Import the file as it is after the edit. Raises `ProofEnded` if that fails."""
        return self._imported(self.request.edited_target, {**self.request.overlays, **self.request.edited})

    def failures(
        self, file: ImportedFile, target: Target, failed: FailedBuilds | None = None, *, needs_cpu: bool = False
    ) -> FoundFailures:
        """The places where the target fails, with guessed inputs. Raises `ProofEnded` if they can't be found.

        ``failed`` and ``needs_cpu`` are as for `explored_failures`.
        """
        request = self.request
        if request.capture == "fx":
            return explored_failures(self.apart, file, target, failed, needs_cpu=needs_cpu)
        trace = Trace(request.file, (target,), request.overlays, request.roots, id=request.id, capture=request.capture)
        return captured_failures(self.apart(), file, trace)

    def check_places(self, before: FoundFailures, after: FoundFailures, mended: Places) -> None:
        """Raises `ProofEnded` unless the failures ``mended``, a part of ``before``, are gone and no failure is new."""
        edited = self.edit.edited_lines()
        if self.request.capture != "fx":
            check_capture_places(before, after, mended, edited)
        else:
            check_places(before, after, mended, edited, self.edit.gone_lines(), self.edit.replaced())

    def _imported(self, target: Target, overlays: dict[str, str]) -> ImportedFile:
        request = self.request
        trace = Trace(request.file, (target,), overlays, request.roots, request.limits, request.id)
        said: list[object] = []
        file = TraceSession(trace, self._builtin, said.append).imported()
        if file is None:
            errors = [failure.error for report in said if isinstance(report, Report) for failure in report.failures]
            raise ProofEnded("untried", f"the file can't be imported: {', '.join(errors)}")
        return file
