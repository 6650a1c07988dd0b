"""A process that has built one target and waits: each trace of the target is made in a child of this process.

The process keeps the right to fork that importing has, and so may code that it builds; each child gives up that right.
The session's side is ``built_stage.py``.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import _exit
from time import sleep
from typing import Any

from fx_lsp.agent.building.build import build_target
from fx_lsp.agent.building.shared_build import SharedBuild
from fx_lsp.agent.keeping.loaded_code import CodeEdit, StaleError
from fx_lsp.agent.keeping.request_pipe import RequestReader, RequestWriter
from fx_lsp.agent.keeping.stage import Record, Stage, recording
from fx_lsp.agent.keeping.touched_pages import PagesTouched, count_faults, pages_touched, touch
from fx_lsp.agent.messages import Heartbeat, Recipe, Report, Target, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChild, ForkedChildren
from fx_lsp.agent.processes.limits import grace, limit_memory, time_limit
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.tracing.attempt import Attempt, Imported, make_attempt, restrict
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fx_lsp.agent.wire import wire_message

MOST_FAULTS = 500
"""How many pages an attempt may touch for the first time before the next one has them touched ahead."""


PASS_SECONDS = 0.004
"""How long an attempt pauses after its first report, so that the processors are free to pass it on: neither looking for
further failures nor preparing for the next attempt is as urgent."""


@wire_message
@dataclass(frozen=True)
class RunAttempt:
    """To the process: trace the target as it is in the texts of ``trace``; this ends an earlier attempt."""

    number: int
    target: Target
    trace: Trace


@wire_message
@dataclass(frozen=True)
class EndAttempt:
    """To the process: end the attempt that is being made, if there is one."""


@wire_message
@dataclass(frozen=True)
class IsBuilt:
    """From the process: the target is built, and attempts can be made."""


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


@wire_message
@dataclass(frozen=True)
class IsReady:
    """From a child of the process: it waits for an attempt to make."""


@wire_message
@dataclass(frozen=True)
class IsUnfit:
    """From a child of the process: the text is not one that it can trace, and it waits for another attempt."""


@wire_message
@dataclass(frozen=True)
class HasReported:
    """From a child of the process, after its first report: it is time to prepare for the next attempt."""

    pages: PagesTouched
    """The pages that it has touched; empty if most of them had been touched ahead."""


def serve(
    target: Target,
    request: Trace,
    file: ImportedFile,
    begin: CodeEdit,
    read_at: int,
    records: Sequence[Record],
    requests: int,
    emit: Emit,
) -> None:
    """Build ``target`` after the edit ``begin``, and make the attempts that come through the pipe ``requests``.

    ``read_at`` is as for `BuiltStage`, and ``records`` are about the process so far. If the target can't be built, or
    if the process can't be kept, this returns.
    """
    limit_memory(request.limits.memory_mb)
    begin.apply()
    server = _Server(target, request, file, requests, emit)
    try:
        with recording() as record, time_limit(request.limits.seconds, lambda frame: None):
            server.build()
    except Exception:
        return  # an attempt from the start tells what happened
    try:
        stage = Stage(file.workspace, [*records, record], began=read_at)
    except StaleError as reason:
        sys.stderr.write(f"{target.title} is not kept built: {reason}.\n")
        return
    server.serve(stage)


class _Child:
    """A process that waits for one attempt, and makes it."""

    def __init__(self, requests: RequestWriter) -> None:
        self.process: ForkedChild
        self.requests = requests
        self.run: RunAttempt | None = None
        """The attempt that it makes; None while it waits."""

    def make(self, run: RunAttempt) -> None:
        """Have the process make an attempt."""
        self.run = run
        self.process.resume(_attempt_seconds(run.trace))
        if not self.requests.send(run):
            self.process.kill()


class _Server:
    """Makes attempts at one target that was built ahead.

    A process waits for the next attempt while the last one is still being made, so that nobody waits for a fork, or for
    the end of a process whose answer is no longer wanted.
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
        self._next: _Child | None = None
        """The process that makes the next attempt."""
        self._current: _Child | None = None
        """The process whose attempt is wanted."""
        self._pages: PagesTouched = ()
        """The pages that an attempt touches."""

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

    def serve(self, stage: Stage) -> None:
        """Make the attempts that are asked for, until there are no more."""
        self._stage = stage
        self._shared.record_state()
        gc.freeze()  # the children need not copy what they only look through
        self._children = ForkedChildren(heartbeat=lambda: self._emit(Heartbeat(self._request.id)))
        self._children.listen(self._requests.fd, self._heard)
        self._prepare()
        self._emit(IsBuilt())
        while True:
            self._children.wait()

    def _heard(self, data: bytes) -> None:
        if not data:
            _exit(0)
        items = [*self._requests.feed(data)]
        if items and self._current is not None:
            self._current.process.kill()
            self._current = None
        if items and isinstance(items[-1], RunAttempt):
            self._begin(items[-1])

    def _begin(self, run: RunAttempt) -> None:
        self._request = run.trace
        child = self._next or self._fork()
        self._next, self._current = None, child
        self._emit(AttemptBegins(run.number))
        child.make(run)

    def _prepare(self) -> None:
        """Have a process wait for the next attempt."""
        self._next = self._next or self._fork()

    def _fork(self) -> _Child:
        child = _Child(RequestWriter(self._children))
        child.process = self._children.fork(
            partial(self._attempt, child.requests.reader),
            seconds=_attempt_seconds(self._request),
            hear=partial(self._heard_child, child),
            gone=partial(self._gone, child),
        )
        child.requests.close_reader()
        return child

    def _heard_child(self, child: _Child, item: Any) -> None:
        if isinstance(item, IsReady):
            if child.run is None:
                child.process.park()
        elif isinstance(item, IsUnfit):
            self._refused(child)
        elif child is self._current and isinstance(item, HasReported):
            self._pages = item.pages or self._pages
            self._prepare()
        elif child is self._current:
            self._emit(item)

    def _refused(self, child: _Child) -> None:
        """Tell the session that it has to make the attempt from an earlier stage."""
        if child is self._current and child.run is not None:
            self._emit(AttemptEnds(child.run.number))
            self._current, child.run = None, None
            child.process.park()
            self._next = child

    def _gone(self, child: _Child, _process: ChildProcess) -> None:
        child.requests.close()
        if child is self._next:
            self._next = None
        if child is self._current:
            self._current = None
        if child.run is not None:
            self._emit(AttemptEnds(child.run.number))
            if self._current is None:
                self._prepare()

    def _attempt(self, requests: int, emit: Emit) -> None:
        """Wait for an attempt to make, and make it, in a child of this process."""
        restrict(self._request)
        touch(self._pages)
        faults = count_faults()
        emit(IsReady())
        reader = RequestReader(requests)
        while True:
            run: RunAttempt = reader.wait()
            try:
                edit = self._stage.edit_for(run.trace.overlays, self._file.notices)
                break
            except StaleError:  # which leaves everything as it is
                emit(IsUnfit())
        if self._file.workspace.dependencies != self._known:
            emit(Imported(self._file.workspace.dependencies))
        edit.apply()
        self._shared.recode(function for function, _ in edit.changes)
        self._target = run.target
        self._shared.move(self._recipes(run.target)[self._recipe])
        make_attempt(Attempt(run.target), run.trace, self._file, _telling_pages(emit, faults), self._shared)


def _telling_pages(emit: Emit, faults: int) -> Emit:
    """``emit`` that is followed by `HasReported` after the first report; ``faults`` is the `count_faults` before it."""
    has_reported = False

    def tell(item: object) -> None:
        nonlocal has_reported
        emit(item)
        if isinstance(item, Report) and not has_reported:
            has_reported = True
            sleep(PASS_SECONDS)
            emit(HasReported(pages_touched() if count_faults() - faults > MOST_FAULTS else ()))

    return tell


def _attempt_seconds(trace: Trace) -> float:
    """How long the process that makes an attempt may be silent."""
    return trace.limits.seconds + grace(trace.limits.seconds)
