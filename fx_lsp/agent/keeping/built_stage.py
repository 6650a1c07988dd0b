"""The session's side of a process that has built one target and waits; its own side is ``built_process.py``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fx_lsp.agent.keeping.built_process import AttemptBegins, AttemptEnds, EndAttempt, IsBuilt, serve
from fx_lsp.agent.keeping.loaded_code import CodeEdit
from fx_lsp.agent.keeping.ready_processes import RunAttempt
from fx_lsp.agent.keeping.stage import Record
from fx_lsp.agent.keeping.touched_pages import PagesTouched
from fx_lsp.agent.messages import Recipe, Snippet, Span, Target, Trace
from fx_lsp.agent.processes.children import ForkedChild, ForkedChildren
from fx_lsp.agent.processes.limits import grace
from fx_lsp.agent.processes.request_pipe import RequestWriter
from fx_lsp.agent.processes.watchdog import ChildProcess, Hear
from fx_lsp.agent.tracing.attempt import Attempt
from fx_lsp.agent.tracing.trace_target import ImportedFile


@dataclass
class _Run:
    """An attempt that the process is asked to make."""

    number: int
    hear: Hear
    ended: Callable[[], None]


class BuiltStage:
    """A process that has built one target, from which the session has attempts made."""

    def __init__(
        self,
        attempt: Attempt,
        request: Trace,
        file: ImportedFile,
        children: ForkedChildren,
        begin: CodeEdit,
        read_at: int,
        records: Iterable[Record],
        pages: PagesTouched,
    ) -> None:
        """Start the process; ``begin`` is the edit after which the target is built, and attempts touch ``pages``.

        The texts of that edit, or of the import, were read after ``read_at``, by ``time.time_ns``.
        """
        self._children = children
        self._requests = RequestWriter(children)
        self._run: _Run | None = None
        self._number = 0
        """The number of the last attempt that was asked for."""
        self._begun = 0
        """The number of the attempt that what the process emits comes from."""
        self._seconds = request.limits.seconds + 2 * grace(request.limits.seconds)
        self._alive = True
        self.is_built = False
        """Whether the process has built the target, so that it takes requests at once."""
        self.pages: PagesTouched = ()
        """The pages that building has touched; empty until it has ended."""
        job = partial(
            serve, attempt.target, request, file, begin, read_at, tuple(records), pages, self._requests.reader
        )
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
        if isinstance(item, IsBuilt):
            self.is_built, self.pages = True, item.pages
            if run is None:
                self._child.park()
        elif isinstance(item, AttemptBegins):
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
