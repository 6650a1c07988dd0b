"""A session that stays after it has traced a file, so that later traces of the file need not import it again.

There are three stages, each in its own process, and each forked from the one before: the agent has imported installed
packages, the session has imported the file, and a *built stage* (``built_stage.py``) has built one target. A trace
begins at the last stage that the edits since then leave valid.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from os import _exit
from typing import Any

from fx_lsp.agent.keeping.built_stage import BuiltStage, without_lines
from fx_lsp.agent.keeping.loaded_code import CodeEdit, StaleError
from fx_lsp.agent.keeping.ready_processes import (
    HasReported,
    ReadyProcesses,
    RunAttempt,
    attempt_seconds,
    telling_pages,
)
from fx_lsp.agent.keeping.stage import Record, Stage, module_names, recording
from fx_lsp.agent.keeping.touched_pages import PagesTouched
from fx_lsp.agent.messages import Cancel, Heartbeat, Target, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.request_pipe import RequestReader
from fx_lsp.agent.processes.watchdog import Gone, Hear
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.tracing.attempt import Attempt, Imported, make_attempt, run_attempt
from fx_lsp.agent.tracing.target_rounds import TargetRounds
from fx_lsp.agent.tracing.trace_request import TraceSession
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fx_lsp.agent.wire import wire_message

MOST_BUILT = 4
"""How many targets of a file are kept built."""


@wire_message
@dataclass(frozen=True)
class Answered:
    """To the agent: request ``id`` is answered; the session still prepares for the next one."""

    id: int
    unprepared: bool
    """Whether targets could be built ahead, and neither are nor will be at once."""


@wire_message
@dataclass(frozen=True)
class Settled:
    """To the agent: after request ``id``, the session rests until the next one."""

    id: int


@wire_message
@dataclass(frozen=True)
class IsStale:
    """To the agent: request ``id`` can't be answered from this session; the file has to be imported again."""

    id: int


class KeptSession:
    """Handles `Trace` requests about one file, one after the other."""

    def __init__(
        self, request: Trace, edited: Collection[str], builtin: Collection[str], requests: int, emit: Emit
    ) -> None:
        """``request`` is the first one; ``requests`` is the pipe for all others.

        ``edited`` are the keys of the targets that the last edits concerned, which are kept built in any case.
        """
        self._request = request
        self._session = TraceSession(request, builtin, emit)
        self._edited = set(edited)
        self._requests = RequestReader(requests)
        self._waiting: deque[Trace] = deque()
        self._is_cancelled = False
        """Whether the request that is being answered was cancelled."""
        self._cancelled: set[int] = set()
        """The numbers of cancelled requests that have not been begun."""
        self._built: dict[Target, BuiltStage] = {}
        """By target, without lines; those used last are last."""
        self._unbuilt: list[Callable[[], BuiltStage]] = []
        """What builds the targets that the request being answered has not found built."""
        self._outdated: list[Callable[[], BuiltStage]] = []
        """What builds those targets again that it has found built from another text."""
        self._ending: list[Callable[[], None]] = []
        """What ends the attempts of the request that is being answered."""
        self._may_be_stage = True
        """Whether `_become_stage` has not been called yet."""
        self._stage: Stage | None = None
        self._ready: ReadyProcesses | None = None
        """What makes the next attempt that has to build its target, once this process is a stage."""
        self._pages: PagesTouched = ()
        """The pages that an attempt touches that builds its target."""
        self._read_at = 0
        """The time, by ``time.time_ns``, after which the texts were read that the request is about."""

    def run(self) -> None:
        """Import the file, answer the first request, and then the others, until there are no more."""
        self._read_at = time.time_ns()
        GUARD.read.clear()
        with recording(self._session.workspace) as record:
            file = self._session.imported()
        if file is None:
            return
        gc.disable()  # a collection takes a tenth of a second, for which an edit would wait
        self._file: ImportedFile = file
        self._record: Record = record
        self._names = module_names(file.workspace)
        self._children = ForkedChildren(heartbeat=lambda: self._session.emit(Heartbeat(self._request.id)))
        self._children.listen(self._requests.fd, self._heard)
        self._trace(self._request, CodeEdit(), meanwhile=self._become_stage)
        self._session.emit(Answered(self._request.id, unprepared=bool(self._unbuilt)))
        self._become_stage()
        if self._stage is None:
            return
        self._session.emit(Settled(self._request.id))
        while True:
            while self._waiting:
                request = self._waiting.popleft()
                if request.id in self._cancelled:
                    self._settle(request)
                else:
                    self._answer(request, self._stage)
            self._cancelled.clear()
            self._children.wait()

    def _become_stage(self) -> None:
        """Prepare for traces of edited texts, if this process can be kept, and has not been prepared.

        To look through all objects takes up to a tenth of a second, in which children go on with the first trace.
        """
        if not self._may_be_stage:
            return
        self._may_be_stage = False
        try:
            stage = Stage(self._file.workspace, [self._record], began=self._read_at, names=self._names)
        except StaleError as reason:
            sys.stderr.write(f"Nothing is kept of {self._request.file}: {reason}.\n")
            return
        self._stage = stage
        self._ready = ReadyProcesses(self._children, stage, self._file, self._request, self._make)
        self._ready.prepare(self._pages or next((built.pages for built in self._built.values()), ()))

    def _heard(self, data: bytes) -> None:
        if not data:
            _exit(0)
        for item in self._requests.feed(data):
            if isinstance(item, Trace):
                self._waiting.append(item)
            elif isinstance(item, Cancel):
                if item.id == self._request.id:
                    self._is_cancelled = True
                self._cancelled.add(item.id)

    def _answer(self, request: Trace, stage: Stage) -> None:
        self._request, self._is_cancelled = request, False
        self._edited = {target.key for target in request.targets}
        self._read_at = time.time_ns()
        try:
            edit = stage.edit_for(request.overlays, self._file.notices)
        except StaleError as reason:
            sys.stderr.write(f"{request.file} is imported again: {reason}.\n")
            self._session.emit(IsStale(request.id))
            return
        self._session.emit(Imported(self._file.workspace.dependencies))
        self._trace(request, edit, meanwhile=self._build_ahead)
        if not self._is_cancelled:
            # Only now: each key of an edit of a constructor would have it built again, while the next one is answered.
            self._unbuilt += self._outdated
            self._build_ahead()
            self._session.emit(Answered(request.id, unprepared=False))
        self._settle(request)

    def _settle(self, request: Trace) -> None:
        """Say that the session rests, once all that is being built is built or another request has come."""
        while not self._waiting and any(stage.is_alive and not stage.is_built for stage in self._built.values()):
            self._children.wait()
        self._session.emit(Settled(request.id))

    def _trace(self, request: Trace, edit: CodeEdit, meanwhile: Callable[[], None]) -> None:
        """Answer a request; call ``meanwhile``, perhaps several times, once all targets are reported on."""
        self._ending, self._unbuilt, self._outdated = [], [], []
        start = partial(self._start, request, edit)
        rounds = TargetRounds(request, self._file.classes, self._file.notices, start, self._session.emit)
        for _ in rounds.steps():
            if self._is_cancelled:
                for end in self._ending:
                    end()
                return
            if rounds.have_told_all:
                meanwhile()
            self._children.wait()

    def _build_ahead(self) -> None:
        """Build the targets that were not found built."""
        for build in self._unbuilt[:MOST_BUILT]:
            build()
        self._unbuilt = []

    def _start(self, request: Trace, edit: CodeEdit, attempt: Attempt, hear: Hear, gone: Gone) -> None:
        stage = self._stage_for(attempt, request, edit)
        from_here = partial(self._start_from_here, request, edit, attempt, hear, gone)

        def ended() -> None:
            if attempt.answered:
                assert stage is not None
                gone(stage.process)
            elif not self._is_cancelled:
                from_here()  # the text is not one that the stage can trace, or the stage has died, and nobody knows why
                self._outdated.append(partial(self._build, attempt, request, edit, self._read_at))

        if stage is not None and stage.run(attempt, request, hear, ended):
            self._ending.append(stage.end_attempt)
        else:
            from_here()

    def _start_from_here(self, request: Trace, edit: CodeEdit, attempt: Attempt, hear: Hear, gone: Gone) -> None:
        """Make an attempt that has to build its target: in the process that is ready for it, or in one forked now."""
        fork = partial(self._fork, request, edit, attempt, hear, gone)
        if self._ready is not None and self._ready.is_one_waiting and _is_plain(attempt):
            ready = self._ready.start(RunAttempt(request.id, attempt.target, request), hear, fork, gone)
            self._ending.append(ready.end)
        else:
            fork()

    def _make(self, run: RunAttempt, edit: CodeEdit, emit: Emit) -> None:
        """Make an attempt, in a child of this process."""
        edit.apply()
        make_attempt(Attempt(run.target), run.trace, self._file, emit)

    def _fork(self, request: Trace, edit: CodeEdit, attempt: Attempt, hear: Hear, gone: Gone) -> None:
        tells_pages = _is_plain(attempt) and not self._ending  # one of a request is enough

        def job(emit: Emit) -> None:
            emit = telling_pages(emit) if tells_pages else emit
            edit.apply()
            run_attempt(attempt, request, self._file, emit)

        def heard(item: Any) -> None:
            if isinstance(item, HasReported):
                self._has_reported(item)
            else:
                hear(item)

        child = self._children.fork(job, seconds=attempt_seconds(request), hear=heard, gone=gone)
        self._ending.append(child.kill)

    def _has_reported(self, item: HasReported) -> None:
        self._pages = item.pages
        if self._ready is not None:
            self._ready.prepare(self._pages)

    def _stage_for(self, attempt: Attempt, request: Trace, edit: CodeEdit) -> BuiltStage | None:
        """The process that has built the target of ``attempt``; it is started, now or later, if it is worth it.

        Building takes longer there than in a process that ends. Whoever waits for an answer does not wait for that.
        """
        if not _is_plain(attempt) or attempt.target.recipe.made_up:
            return None
        target, someone_edits = without_lines(attempt.target), request.purpose == "edit"
        stage = self._built.pop(target, None)
        if stage is None:
            if attempt.target.key not in self._edited and len(self._built) >= MOST_BUILT:
                return None
            build = partial(self._build, attempt, request, edit, self._read_at)
            if someone_edits:
                self._unbuilt.append(build)
                return None
            return build()
        self._built[target] = stage
        return stage if stage.is_alive and (stage.is_built or not someone_edits) else None

    def _build(self, attempt: Attempt, request: Trace, edit: CodeEdit, read_at: int) -> BuiltStage:
        """Start a process that builds the target of ``attempt``; ``read_at`` is as for `BuiltStage`."""
        target = without_lines(attempt.target)
        if (before := self._built.pop(target, None)) is not None:
            before.close()
        stage = BuiltStage(attempt, request, self._file, self._children, edit, read_at, [self._record], self._pages)
        self._built[target] = stage
        while len(self._built) > MOST_BUILT:
            self._built.pop(next(iter(self._built))).close()
        return stage


def _is_plain(attempt: Attempt) -> bool:
    """Whether the attempt is the first one at a target, which is not traced as a part of others."""
    return attempt.on_meta and not attempt.parts
