"""A process that has built one target and waits: each trace of the target is made in a child of this process.

The first half of this file runs in the session that starts the process, the second half in the process itself. The
process keeps the right to fork that importing has, and so may code that it builds; each child gives up that right.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from os import _exit
from typing import Any

from fx_lsp.agent.building.build import build_target
from fx_lsp.agent.building.shared_build import SharedBuild
from fx_lsp.agent.keeping.loaded_code import CodeEdit, StaleError
from fx_lsp.agent.keeping.requests import RequestReader, RequestWriter
from fx_lsp.agent.keeping.stage import Record, Stage, recording
from fx_lsp.agent.messages import Heartbeat, Recipe, Snippet, Span, Target, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChild, ForkedChildren
from fx_lsp.agent.processes.limits import grace, limit_memory, time_limit
from fx_lsp.agent.processes.watchdog import ChildProcess, Hear
from fx_lsp.agent.tracing.attempt import Attempt, Imported, make_attempt, restrict
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fx_lsp.agent.wire import wire_message


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


@dataclass
class _Run:
    """An attempt that the process is asked to make."""

    number: int
    hear: Hear
    ended: Callable[[], None]


class BuiltStage:
    """The session's side of such a process."""

    def __init__(
        self,
        attempt: Attempt,
        request: Trace,
        file: ImportedFile,
        children: ForkedChildren,
        begin: CodeEdit,
        records: Iterable[Record],
    ) -> None:
        """Start the process; ``begin`` is the edit after which the target is built."""
        self._children = children
        self._requests = RequestWriter(children)
        self._run: _Run | None = None
        self._number = 0
        """The number of the last attempt that was asked for."""
        self._begun = 0
        """The number of the attempt that what the process emits comes from."""
        self._seconds = request.limits.seconds + 2 * grace(request.limits.seconds)
        self._alive = True
        job = partial(_serve, attempt.target, request, file, begin, tuple(records), self._requests.reader)
        self._child: ForkedChild = children.fork(job, seconds=self._seconds, hear=self._heard, gone=self._gone)
        self._requests.close_reader()

    def run(self, attempt: Attempt, request: Trace, hear: Hear, ended: Callable[[], None]) -> bool:
        """Have an attempt made: ``hear`` receives what it emits, and ``ended`` is called at its end.

        False if the process does not take requests.
        """
        self._number += 1
        if not self._alive or not self._requests.send(RunAttempt(self._number, attempt.target, request)):
            self.close()
            return False
        self._run = _Run(self._number, hear, ended)
        self._child.resume(self._seconds)
        return True

    def end_attempt(self) -> None:
        """Give up the attempt that is being made."""
        self._run = None
        if self._alive and not self._child.is_parked and not self._requests.send(EndAttempt()):
            self.close()

    def close(self) -> None:
        """End the process."""
        if self._alive:
            self._alive = False
            self._requests.close()
            self._child.kill()

    @property
    def is_alive(self) -> bool:
        """Whether the process takes requests."""
        return self._alive

    @property
    def process(self) -> ChildProcess:
        """The process."""
        return self._child

    def _heard(self, item: Any) -> None:
        run = self._run
        if isinstance(item, AttemptBegins):
            self._begun = item.number
        elif isinstance(item, AttemptEnds):
            if item.number == self._number:
                self._child.park()
                self._run = None
                if run is not None:
                    run.ended()
        elif run is not None and self._begun == run.number:
            run.hear(item)

    def _gone(self, _process: ChildProcess) -> None:
        if self._alive:
            self._alive = False
            self._requests.close()
        run, self._run = self._run, None
        if run is not None:
            run.ended()


def without_lines(target: Target) -> Target:
    """``target`` without its places in the file, which are all that edits of other code change about it."""
    nowhere = Span("", 0, 0, 0, 0)
    recipes = tuple(map(_recipe_without_lines, target.fallbacks))
    return dataclasses.replace(
        target, span=nowhere, recipe=_recipe_without_lines(target.recipe), fallbacks=recipes, hosts=()
    )


def _recipe_without_lines(recipe: Recipe) -> Recipe:
    def moved(snippet: Snippet | None) -> Snippet | None:
        return snippet and dataclasses.replace(snippet, line=0)

    root = dataclasses.replace(recipe.root, line=0)
    setup = tuple(dataclasses.replace(snippet, line=0) for snippet in recipe.setup)
    return dataclasses.replace(
        recipe,
        root=root,
        setup=setup,
        concrete_args=moved(recipe.concrete_args),
        tracer=moved(recipe.tracer),
        leaves=moved(recipe.leaves),
        inputs=moved(recipe.inputs),
    )


# What follows runs in the process.


def _serve(
    target: Target,
    request: Trace,
    file: ImportedFile,
    begin: CodeEdit,
    records: Sequence[Record],
    requests: int,
    emit: Emit,
) -> None:
    limit_memory(request.limits.memory_mb)
    begin.apply()
    server = _Server(target, request, file, requests, emit)
    began = time.time_ns()
    try:
        with recording() as record, time_limit(request.limits.seconds, lambda frame: None):
            server.build()
    except Exception:
        return  # an attempt from the start tells what happened
    try:
        stage = Stage(file.workspace, [*records, record], began=began)
    except StaleError as reason:
        sys.stderr.write(f"{target.title} is not kept built: {reason}.\n")
        return
    gc.freeze()  # the children need not copy what they only look through
    server.serve(stage)


class _Server:
    """Makes attempts at one target that was built ahead."""

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
        self._has_child = False
        self._child: ForkedChild
        """The process that makes the current or the next attempt."""
        self._to_child: RequestWriter
        self._run: RunAttempt | None = None
        """The attempt that is being made."""
        self._next: RunAttempt | None = None

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
        self._children = ForkedChildren(heartbeat=lambda: self._emit(Heartbeat(self._request.id)))
        self._children.listen(self._requests.fd, self._heard)
        while True:
            self._begin_next()
            self._children.wait()

    def _heard(self, data: bytes) -> None:
        if not data:
            _exit(0)
        for item in self._requests.feed(data):
            self._next = item if isinstance(item, RunAttempt) else None
            if self._run is not None:
                self._child.kill()

    def _begin_next(self) -> None:
        """Begin the attempt that was asked for, unless another one is still ending."""
        run = self._next
        if run is None or self._run is not None:
            return
        if not self._has_child:
            self._fork()
        self._next, self._run, self._request = None, run, run.trace
        self._emit(AttemptBegins(run.number))
        self._child.resume(_attempt_seconds(run.trace))
        if not self._to_child.send(run):
            self._child.kill()

    def _fork(self) -> None:
        """Fork the process that makes the next attempt, and then waits, so that the attempt begins at once."""
        self._to_child = RequestWriter(self._children)
        self._has_child = True
        self._child = self._children.fork(
            partial(self._attempt, self._to_child.reader),
            seconds=_attempt_seconds(self._request),
            hear=self._heard_child,
            gone=self._gone,
        )
        self._to_child.close_reader()

    def _heard_child(self, item: Any) -> None:
        if not isinstance(item, IsReady):
            self._emit(item)
        elif self._run is None:
            self._child.park()

    def _gone(self, _process: ChildProcess) -> None:
        self._to_child.close()
        self._has_child = False
        if self._run is not None:
            self._emit(AttemptEnds(self._run.number))
            self._run = None
            self._fork()

    def _attempt(self, requests: int, emit: Emit) -> None:
        """Wait for an attempt to make, and make it, in a child of this process."""
        restrict(self._request)
        emit(IsReady())
        run: RunAttempt = RequestReader(requests).wait()
        try:
            edit = self._stage.edit_for(run.trace.overlays, in_place=bool(self._file.notices))
        except StaleError:
            return  # without an answer, so that the session makes the attempt from an earlier stage
        if self._file.workspace.dependencies != self._known:
            emit(Imported(self._file.workspace.dependencies))
        edit.apply()
        self._target = run.target
        self._shared.move(self._recipes(run.target)[self._recipe])
        make_attempt(Attempt(run.target), run.trace, self._file, emit, self._shared)


def _attempt_seconds(trace: Trace) -> float:
    """How long the process that makes an attempt may be silent."""
    return trace.limits.seconds + grace(trace.limits.seconds)
