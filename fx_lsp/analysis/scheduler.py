"""Decides what to trace and when.

After an edit, the scheduler looks for the file's targets, has the agent trace them, and stores each report in the
results as it arrives. When edits follow each other quickly, only the first and the last are traced; if a line is half
typed, the scheduler waits. A new edit cancels the running trace of the file: a cancelled task takes no further step, so
nothing outdated is stored. Files that import the edited file are also traced again. The setting ``trace`` can restrict
all this to saved files, or to files that the user asks for; and tracing can be paused.

Nothing here depends on a client: the language server and the command line both use this module.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import PurePath
from typing import Any

from fx_lsp.agent.messages import Done, Target, Trace
from fx_lsp.analysis import machine_load
from fx_lsp.analysis.results import Results, Traced
from fx_lsp.documents import half_typed
from fx_lsp.documents.documents import Documents, Snapshot, on_disk
from fx_lsp.settings.settings import Settings
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.targets.capture_uses import CaptureUses
from fx_lsp.targets.configured_targets import as_configured
from fx_lsp.targets.target_finder import TargetFinder
from fx_lsp.workspace.workspace import Workspace

log = logging.getLogger(__name__)


class Scheduler:
    """Keeps up to date the results of all files that it was asked to trace. Must be used from one event loop.

    ``agent_for`` returns the agent that traces a file, ``settings_of`` the file's settings. ``finder`` finds the
    targets; the default finder keeps nothing on disk. ``uses`` are the captures that the workspace uses; the
    scheduler reports to them what has changed, but does not update them. ``gives_way``: make do with less while other
    programs keep the computer busy.
    """

    def __init__(
        self,
        documents: Documents,
        workspace: Workspace,
        agent_for: Callable[[str], TracingAgent],
        settings_of: Callable[[str], Settings] = lambda path: Settings(),
        finder: TargetFinder | None = None,
        uses: CaptureUses | None = None,
        *,
        gives_way: bool = False,
    ) -> None:
        self.documents = documents
        self.workspace = workspace
        self.agent_for = agent_for
        self.settings_of = settings_of
        self.uses = uses or CaptureUses(lambda: workspace.folders, documents.text)
        self.results = Results(documents, workspace, settings_of, self.uses)
        self._gives_way = gives_way
        self.held_back = ""
        """The reason why targets are found but not traced; empty if they are traced."""
        self.paused = False
        """Whether files are traced only when the user asks for it, whatever the settings say."""
        self.on_result: Callable[[str, bool], None] = lambda path, complete: None
        """Called whenever the result of a file, or the place of a finding in its text, may have changed.

        The arguments are the file's path and whether no more results are expected for its current text.
        """
        self._finder = finder or TargetFinder(lambda: workspace.folders, documents.text)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._looking: set[asyncio.Task[None]] = set()
        """The tasks that check whether another file has changed how a file's targets are built."""
        self._quiet: dict[str, asyncio.TimerHandle] = {}
        """For each file that is edited quickly or in a half-typed line: the timer that starts its trace."""
        self._edited_at: dict[str, float] = {}
        """When each file was last edited, by the loop's clock."""
        self._missed: set[str] = set()
        """The files that would have been traced if tracing had not been paused."""
        self._crowded = -math.inf
        """When several files were last traced at the same time, by the loop's clock."""

    def opened(self, path: str) -> None:
        """Trace ``path`` now; if the editor restored unsaved edits of it, also trace the files that import it.

        The files that could not import it until now are traced in any case: not every client reports new files.
        """
        self._trace_lacking(path)
        if not self._traces_when(path, "onType"):
            self._stop(path)
            if self._find_targets(path):
                self.on_result(path, False)
            return
        disk = on_disk(path)
        saved = disk is not None and disk.text == self.documents.text(path)
        self._start(path, self.trace(path) if saved else self._trace_edited(path))

    def edited(self, path: str) -> None:
        """Trace ``path`` and the files that import it, at once or after a delay.

        The delay gives the user time to finish if edits follow each other quickly or a line is half typed.
        """
        self._stop(path)
        if not self._traces_when(path, "onType"):
            self.results.outdate(path)
            return
        loop = asyncio.get_running_loop()
        before, self._edited_at[path] = self._edited_at.get(path), loop.time()
        if seconds := self._seconds_to_wait(path, math.inf if before is None else loop.time() - before):
            self._quiet[path] = loop.call_later(seconds, lambda: self._start(path, self._trace_edited(path)))
        else:
            self._start(path, self._trace_edited(path))

    def saved(self, path: str) -> None:
        """Trace ``path``, which was saved, if saved files are traced or if it is waiting to be traced.

        The files that could not import it until now are traced in any case, as when it is opened.
        """
        self._trace_lacking(path)
        if path in self._quiet or self._traces_when(path, "onSave"):
            self._start(path, self._trace_edited(path))
        elif self.settings_of(path).trace == "onSave":
            self._missed.add(path)

    def pause(self) -> None:
        """Stop tracing, except for files that the user asks for."""
        self.paused = True
        for path in [*self._tasks, *self._quiet]:
            self._missed.add(path)
            self._stop(path)

    def resume(self) -> None:
        """Trace as the settings say, beginning with what would have been traced meanwhile."""
        self.paused = False
        changed = [path for path in self.documents.paths if not self.results.is_current(path)]
        for path in dict.fromkeys([*changed, *self._missed]):
            if self._traces_when(path, "onType") or (path in self._missed and self._traces_when(path, "onSave")):
                self._start(path, self._trace_edited(path))
        self._missed.clear()

    def trace_dependants(self, path: str) -> None:
        """Trace the files that may depend on ``path``, whose text has changed.

        These are the files that import it, and files with classes that it may show how to build.
        """
        self.uses.changed(path)
        dependants = self.results.dependants(path)
        for other in dependants:
            self._again(other)
        names = self._finder.changed(path)
        for other in self.results.needing_recipes(names):
            if other != path and other not in dependants:
                look = asyncio.get_running_loop().create_task(self._again_if_built_otherwise(other))
                self._looking.add(look)
                look.add_done_callback(self._looking.discard)

    def _trace_lacking(self, path: str) -> None:
        """Trace the files whose import had to do without something that ``path``, which may be new, may provide."""
        names = PurePath(path).with_suffix("").relative_to(self.workspace.folder_of(path)).parts
        for other in self.results.lacking(names):
            if other != path and path not in self.results[other].dependencies:
                self._again(other)

    def trace_all(self) -> None:
        """Trace every file again, after a change that may affect all of them."""
        self._finder.forget()
        self.uses.forget()
        for path in list(self.results):
            self._again(path)

    def trace_anew(self, path: str) -> None:
        """Trace a file and those that import it now, even if nothing has changed."""
        self._start(path, self._trace_edited(path))

    def trace_again(self, path: str) -> None:
        """Trace a file now, even if nothing has changed."""
        self._start(path, self.trace(path))

    def forget(self, path: str) -> None:
        """Drop the result of a file, and stop tracing it."""
        self._stop(path)
        self._edited_at.pop(path, None)
        self._missed.discard(path)
        if self.results.pop(path, None):
            self.on_result(path, True)

    def cancel(self) -> None:
        """Stop all traces that are running or waiting; the reports that have arrived are kept."""
        for path in [*self._tasks, *self._quiet]:
            self._stop(path)
            if self.results.drop_kept(path):
                self.on_result(path, False)

    def is_tracing(self, path: str) -> bool:
        """Whether newer reports on a file are expected."""
        return path in self._tasks or path in self._quiet

    async def close(self) -> None:
        """Stop all work, and wait until it has stopped."""
        tasks = [*self._tasks.values(), *self._looking]
        self.cancel()
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def trace(self, path: str) -> None:
        """Trace the targets of one file now. Returns when all targets have been reported."""
        if self._find_targets(path):
            await self._complete_and_trace(path)

    async def _trace_edited(self, path: str) -> None:
        """Like `trace`, and also start to trace the files that depend on this one.

        Nothing is traced if the text does not parse, since that would only make the other files fail.
        """
        if self._find_targets(path):
            self.trace_dependants(path)
            await self._complete_and_trace(path)

    async def completed(self, path: str, targets: Sequence[Target]) -> tuple[Target, ...]:
        """``targets`` of ``path`` with recipes (ways to build them) from other files, adapted to the settings."""
        found = await asyncio.to_thread(self._finder.completed, path, targets)
        return as_configured(found, self.settings_of(path))

    def seconds_since_edit(self) -> float:
        """How long ago a file was last edited; infinity if none was."""
        return asyncio.get_running_loop().time() - max(self._edited_at.values(), default=-math.inf)

    def request(self, path: str, traced: Sequence[Traced], snapshot: Snapshot, time_factor: int = 1) -> Trace:
        """A request to trace or describe targets of a file, with ``time_factor`` times the time limit of a trace."""
        limits = self.settings_of(path).limits
        at_once = 1 if self.is_loaded() else limits.at_once
        limits = dataclasses.replace(limits, seconds=time_factor * limits.seconds, at_once=at_once)
        targets = tuple(item.target for item in traced)
        return Trace(path, targets, snapshot.overlays(), self.workspace.roots_of(path), limits)

    def is_loaded(self) -> bool:
        """Whether to make do with less because other programs keep the computer busy.

        The system does not say whose processes had to wait. If several files were traced at the same time, they may
        well have been fx-lsp's own.
        """
        is_crowded = asyncio.get_running_loop().time() < self._crowded + machine_load.WINDOW
        return self._gives_way and not is_crowded and machine_load.is_loaded()

    def _seconds_to_wait(self, path: str, since_edit: float) -> float:
        """How long to wait for another edit of a file whose previous edit was ``since_edit`` seconds ago."""
        delay, edit = self.settings_of(path).trace_delay / 1000, self.documents.last_edit(path)
        if delay and edit.is_typed and half_typed.is_half_typed(self.documents.text(path) or "", edit.new_end):
            return max(delay, half_typed.SECONDS)
        if delay and self.is_loaded():
            return max(delay, machine_load.QUIET_SECONDS)
        return delay if since_edit < delay else 0.0

    def _find_targets(self, path: str) -> bool:
        """Find the targets of a file. Returns False, and keeps the file's result, if the file does not parse."""
        snapshot = self.documents.snapshot()
        lines = snapshot.lines_of(path)
        traces = self.workspace.traces(path) and self.settings_of(path).includes(path)
        targets = self._finder.find(path, lines.text) if lines and traces else ()
        if targets is None:
            self.results.note_unparsable(path)
            self.on_result(path, True)
            return False
        self.results.keep_targets(path, targets, snapshot, with_mistakes=traces)
        return True

    async def _complete_and_trace(self, path: str) -> None:
        traced = self.results[path].traced
        for target in await self.completed(path, [item.target for item in traced.values()]):
            traced[target.key] = dataclasses.replace(traced[target.key], target=target)
        snapshot = self.documents.snapshot()
        if traced and not self.held_back:
            silent = set(traced)
            request = self.request(path, self.nearest(path, traced.values()), snapshot)
            # Leaving the block closes the generator, and that cancels the request.
            async with contextlib.aclosing(self.agent_for(path).trace(request)) as answers:
                async for answer in answers:
                    if isinstance(answer, Done):
                        if answer.cancelled:
                            return
                        self._keep_dependencies(path, answer, snapshot)
                    else:
                        silent.discard(answer.target)
                        self.results.keep_report(path, answer, snapshot)
                        self.on_result(path, False)
            self.results.drop_kept(path)
            for key in silent:
                # No agent could be started: an earlier agent's report is about another text or another Python.
                traced[key] = Traced(traced[key].target, traced[key].place)
        self.results.complete(path, snapshot)
        self.on_result(path, True)

    def nearest(self, path: str, traced: Iterable[Traced]) -> list[Traced]:
        """The targets that start before the last edit, then those after it, each group sorted nearest first."""
        edit = self.documents.last_edit(path).new_end
        return sorted(traced, key=lambda item: (item.place.start > edit, abs(item.place.start - edit)))

    def _keep_dependencies(self, path: str, done: Done, snapshot: Snapshot) -> None:
        dependencies = frozenset(done.dependencies) - {path}
        self.results[path].dependencies = dependencies
        # An edit of a dependency since the request was made caused no new trace: the dependency was not yet known.
        if any(self.documents.changed_since(other, snapshot.moment) for other in dependencies):
            asyncio.get_running_loop().call_soon(self._again, path)

    async def _again_if_built_otherwise(self, path: str) -> None:
        """Trace a file again if other files now show another way to build its classes than at its last trace."""
        known = {key: item.target for key, item in self.results[path].traced.items()}
        found = await self.completed(path, self._finder.find(path, self.documents.text(path) or "") or ())
        if path in self.results and {target.key: target for target in found} != known:
            self._again(path)

    def _again(self, path: str) -> None:
        """Trace a file for a reason other than its own edit, unless it is waiting to be traced anyway."""
        if path not in self.results or path in self._quiet:
            return
        if self._traces_when(path, "onType", "onSave"):
            self._start(path, self.trace(path))
        else:
            self.results.outdate(path)
            if self.paused:
                self._missed.add(path)

    def _traces_when(self, path: str, *modes: str) -> bool:
        """Whether the setting ``trace`` of a file is one of ``modes``, and tracing is not paused."""
        return not self.paused and self.settings_of(path).trace in modes

    def _start(self, path: str, work: Coroutine[Any, Any, None]) -> None:
        self._stop(path)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[path] = task
        if len(self._tasks) > 1:
            self._crowded = asyncio.get_running_loop().time()
        task.add_done_callback(lambda done: self._ended(path, done))

    def _stop(self, path: str) -> None:
        if timer := self._quiet.pop(path, None):
            timer.cancel()
        if task := self._tasks.pop(path, None):
            task.cancel()

    def _ended(self, path: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(path) is task:
            if len(self._tasks) > 1:
                self._crowded = asyncio.get_running_loop().time()
            del self._tasks[path]
        if not task.cancelled() and (error := task.exception()):
            log.error("tracing %s failed", path, exc_info=error)
