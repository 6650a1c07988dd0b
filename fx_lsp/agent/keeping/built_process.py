"""A process that has built one target and waits: each trace of the target is made in a child of this process.

The process keeps the right to fork that importing has, and so may code that it builds; each child gives up that right.
The session's side is ``built_stage.py``.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os import _exit
from typing import Any

from fx_lsp.agent.building.build import build_target
from fx_lsp.agent.building.shared_build import SharedBuild
from fx_lsp.agent.inventing.plan_memory import PLANS
from fx_lsp.agent.keeping.loaded_code import CodeEdit, StaleError
from fx_lsp.agent.keeping.ready_processes import ReadyAttempt, ReadyProcesses, RunAttempt
from fx_lsp.agent.keeping.stage import Record, Stage, recording
from fx_lsp.agent.keeping.touched_pages import PagesTouched, pages_touched
from fx_lsp.agent.messages import Heartbeat, Recipe, Target, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.limits import limit_memory, time_limit
from fx_lsp.agent.processes.request_pipe import RequestReader
from fx_lsp.agent.tracing.attempt import Attempt, Imported, make_attempt
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fx_lsp.agent.wire import wire_message


@wire_message
@dataclass(frozen=True)
class EndAttempt:
    """To the process: end the attempt that is being made, if there is one."""


@wire_message
@dataclass(frozen=True)
class IsBuilt:
    """From the process: the target is built, and attempts can be made."""

    pages: PagesTouched
    """The pages that it has touched."""


@wire_message
@dataclass(frozen=True)
class AttemptBegins:
    """From the process: what follows comes from this attempt."""

    number: int


@wire_message
@dataclass(frozen=True)
class AttemptEnds:
    """From the process: an attempt has ended."""

    number: int


def serve(
    target: Target,
    request: Trace,
    file: ImportedFile,
    begin: CodeEdit,
    read_at: int,
    records: Sequence[Record],
    pages: PagesTouched,
    requests: int,
    emit: Emit,
) -> None:
    """Build ``target`` after the edit ``begin``, and make the attempts that come through the pipe ``requests``.

    ``read_at`` and ``pages`` are as for `BuiltStage`, and ``records`` are about the process so far. If the target can't
    be built, or if the process can't be kept, this returns.
    """
    gc.enable()  # which the session has not
    limit_memory(request.limits.memory_mb)
    begin.apply()
    PLANS.switch_on()
    server = _Server(target, request, file, requests, emit)
    try:
        with recording() as record, time_limit(request.limits.seconds, lambda frame: None):
            server.build()
    except Exception:
        return  # an attempt from the start shows what happened
    try:
        stage = Stage(file.workspace, [*records, record], began=read_at)
    except StaleError as reason:
        sys.stderr.write(f"{target.title} is not kept built: {reason}.\n")
        return
    server.serve(stage, pages)


class _Server:
    """Makes attempts at one target that was built ahead.

    An attempt that is no longer wanted is given up.
    """

    def __init__(self, target: Target, request: Trace, file: ImportedFile, requests: int, emit: Emit) -> None:
        self._target = target
        self._file = file
        self._emit = emit
        self._shared = SharedBuild(self._build)
        self._requests = RequestReader(requests)
        self._known = file.workspace.dependencies
        self._recipe = 0
        """The number of the recipe that the target was built by."""
        self._request = request
        """The last request."""
        self._current: ReadyAttempt | None = None
        """The attempt that is wanted."""
        self._number = 0
        """The number of that attempt, or of the one before."""

    def _build(self, on_meta: bool) -> Any:
        workspace, target = self._file.workspace, self._target
        return build_target(target, workspace.file, self._file.namespace, workspace.folders, on_meta=on_meta)

    def build(self) -> None:
        """Build the target; raises what its code raises."""
        built = self._shared.build_ahead()
        self._recipe = self._recipes(self._target).index(built.recipe)

    @staticmethod
    def _recipes(target: Target) -> tuple[Recipe, ...]:
        return target.recipe, *target.fallbacks

    def serve(self, stage: Stage, pages: PagesTouched) -> None:
        """Make the attempts that are asked for, until there are no more."""
        self._stage = stage
        touched = pages_touched()
        self._shared.record_state()
        gc.freeze()  # the children need not copy what they only look through
        self._children = ForkedChildren(heartbeat=lambda: self._emit(Heartbeat(self._request.id)))
        self._children.listen(self._requests.fd, self._heard)
        self._ready = ReadyProcesses(self._children, stage, self._file, self._request, self._make)
        self._ready.prepare(pages)
        self._emit(IsBuilt(touched))
        while True:
            self._children.wait()

    def _heard(self, data: bytes) -> None:
        if not data:
            _exit(0)
        for item in [*self._requests.feed(data)][-1:]:  # what came before it is no longer wanted
            if self._current is not None:
                self._current.end()
                self._ended()
            if isinstance(item, RunAttempt):
                self._begin(item)

    def _begin(self, run: RunAttempt) -> None:
        self._request, self._number = run.trace, run.number
        self._emit(AttemptBegins(run.number))
        self._current = self._ready.start(run, self._emit, self._ended, lambda process: self._ended())

    def _ended(self) -> None:
        self._current = None
        self._emit(AttemptEnds(self._number))

    def _make(self, run: RunAttempt, edit: CodeEdit, emit: Emit) -> None:
        """Make an attempt, in a child of this process."""
        if self._file.workspace.dependencies != self._known:
            emit(Imported(self._file.workspace.dependencies))
        edit.apply()
        self._shared.recode(function for function, _ in edit.changes)
        self._target = run.target
        self._shared.move(self._recipes(run.target)[self._recipe])
        make_attempt(Attempt(run.target), run.trace, self._file, emit, self._shared)
