"""What to trace when, and the latest that is known of every file.

After an edit of a file its targets are looked for, then its agent traces them, and each report is kept as it comes; of
edits that follow fast upon each other, the first and the last have that done, and a line that is being typed is waited
for. A new edit starts that anew, and what was under way is cancelled: a task that was cancelled takes no further step,
so that nothing stale is ever kept. Files that import the edited one are traced again, too.

Nothing here knows of a client: the language server and the command line both stand on this module.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import logging
import math
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fx_lsp import half_typed
from fx_lsp.agent.messages import Done, Report, Target, Trace
from fx_lsp.agent_pool import TracingAgent
from fx_lsp.config import Settings
from fx_lsp.documents import Documents, Place, Snapshot, on_disk
from fx_lsp.findings import Finding, findings_in_text, findings_of, is_shown
from fx_lsp.selection import Selection
from fx_lsp.targets.configured import as_configured
from fx_lsp.targets.elsewhere import is_open
from fx_lsp.targets.finder import TargetFinder
from fx_lsp.workspace import Workspace

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Traced:
    """A target and the latest report on it."""

    target: Target
    place: Place
    """The target's span."""
    report: Report | None = None
    """None until the first one comes."""
    findings: tuple[Finding, ...] = ()
    kept: tuple[Finding, ...] = ()
    """Of a partial report: what earlier ones had found behind the first failure, and may be so still."""

    @property
    def is_told(self) -> bool:
        """Whether it was traced, to its end or to a failure."""
        return self.report is not None and self.report.outcome in ("traced", "failed")


@dataclass
class FileResult:
    """The latest that is known of one file."""

    traced: dict[str, Traced] = field(default_factory=dict)
    """By the target's key, in the order of the file."""
    mistakes: tuple[Finding, ...] = ()
    """Directives that can't be understood."""
    dependencies: frozenset[str] = frozenset()
    """The other files of the workspace that were imported to trace it."""


class Analysis:
    """Keeps the result of every file that it is told of up to date. Belongs to one event loop.

    ``agent_for`` gives the agent of a workspace folder, ``settings_of`` the settings for a file; ``finder`` finds what
    is to be traced, and is one that keeps nothing on disk unless it is given.
    """

    def __init__(
        self,
        documents: Documents,
        workspace: Workspace,
        agent_for: Callable[[Path], TracingAgent],
        settings_of: Callable[[str], Settings] = lambda path: Settings(),
        finder: TargetFinder | None = None,
    ) -> None:
        self.documents = documents
        self.workspace = workspace
        self.settings_of = settings_of
        self.results: dict[str, FileResult] = {}
        self.held_back = ""
        """Why nothing is traced, though targets are looked for; empty where it is."""
        self._agent_for = agent_for
        self._finder = finder or TargetFinder(lambda: workspace.folders, documents.text)
        self.on_result: Callable[[str, bool], None] = lambda path, complete: None
        """Called whenever what is known of the file ``path``, or where it stands in the text, may have changed.
        ``complete``: its text of now is dealt with."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._looking: set[asyncio.Task[None]] = set()
        """Those that look whether another file has changed what is to be traced."""
        self._quiet: dict[str, asyncio.TimerHandle] = {}
        """Of each file that is edited fast, or in a half-typed line: what goes off when it has been quiet for long
        enough."""
        self._edited_at: dict[str, float] = {}
        """When each file was edited last, by the loop's clock."""

    def opened(self, path: str) -> None:
        """Trace ``path`` now; if the editor has kept edits of it that were not saved, the files that import it, too."""
        disk = on_disk(path)
        saved = disk is not None and disk.text == self.documents.text(path)
        self._start(path, self.trace(path) if saved else self._trace_edited(path))

    def edited(self, path: str) -> None:
        """Trace ``path``, and the files that import it with it: at once, or if it is edited fast or the edit ends in a
        half-typed line, when that is over."""
        self._stop(path)
        loop = asyncio.get_running_loop()
        before, self._edited_at[path] = self._edited_at.get(path), loop.time()
        if seconds := self._seconds_to_wait(path, math.inf if before is None else loop.time() - before):
            self._quiet[path] = loop.call_later(seconds, lambda: self._start(path, self._trace_edited(path)))
        else:
            self._start(path, self._trace_edited(path))

    def changed_on_disk(self, path: str) -> None:
        """Trace the files that import ``path``, and those whose classes it may show how to build."""
        dependants = self._dependants(path)
        for other in dependants:
            self._again(other)
        names = self._finder.changed(path)
        for other in self._built_elsewhere(names):
            if other != path and other not in dependants:
                look = asyncio.get_running_loop().create_task(self._again_if_otherwise(other))
                self._looking.add(look)
                look.add_done_callback(self._looking.discard)

    def trace_all(self) -> None:
        """Trace every file again, since something has changed that may concern all of them."""
        self._finder.forget()
        for path in list(self.results):
            self._again(path)

    def trace_anew(self, path: str) -> None:
        """Trace a file now, as if nothing were known of it."""
        self.results.pop(path, None)
        self._start(path, self._trace_edited(path))
        self.on_result(path, False)

    def forget(self, path: str) -> None:
        """Drop what is known of a file, and stop tracing it."""
        self._stop(path)
        self._edited_at.pop(path, None)
        if self.results.pop(path, None):
            self.on_result(path, True)

    def cancel(self) -> None:
        """Trace nothing more until something else happens; what was reported is kept."""
        for path in [*self._tasks, *self._quiet]:
            self._stop(path)
            if self._drop_kept(path):
                self.on_result(path, False)

    def is_tracing(self, path: str) -> bool:
        """Whether newer reports on a file are on their way."""
        return path in self._tasks or path in self._quiet

    def findings(self) -> Iterator[Finding]:
        """Every finding, where its text stands now; without those whose text was edited."""
        for result in self.results.values():
            traced = (finding for item in result.traced.values() for finding in (*item.findings, *item.kept))
            yield from self._standing(itertools.chain(result.mistakes, traced))

    def _standing(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        for finding in findings:
            if now := self.documents.now(finding.place):
                yield dataclasses.replace(finding, place=now)

    async def close(self) -> None:
        """Stop all work, and wait until it has stopped."""
        tasks = [*self._tasks.values(), *self._looking]
        self.cancel()
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def trace(self, path: str) -> None:
        """Trace the targets of one file now. Returns when all of them are reported."""
        if self._find_targets(path):
            await self._look_elsewhere(path)
            await self._ask_agent(path)

    async def _trace_edited(self, path: str) -> None:
        """The same, and start to trace the files that import it; what does not parse would only break them."""
        if self._find_targets(path):
            self.changed_on_disk(path)
            await self._look_elsewhere(path)
            await self._ask_agent(path)

    async def completed(self, path: str, targets: Sequence[Target]) -> tuple[Target, ...]:
        """``targets`` of the file ``path``, with what other files show of how they are built, as the settings say."""
        found = await asyncio.to_thread(self._finder.completed, path, targets)
        return as_configured(found, self.settings_of(path))

    async def _look_elsewhere(self, path: str) -> None:
        traced = self.results[path].traced
        for target in await self.completed(path, [item.target for item in traced.values()]):
            traced[target.key] = dataclasses.replace(traced[target.key], target=target)

    def _seconds_to_wait(self, path: str, since_edit: float) -> float:
        """How long a file that is edited now, and was ``since_edit`` seconds ago, has to stay as it is."""
        delay, edit = self.settings_of(path).trace_delay / 1000, self.documents.last_edit(path)
        if delay and edit.is_typed and half_typed.is_half_typed(self.documents.text(path) or "", edit.new_end):
            return max(delay, half_typed.SECONDS)
        return delay if since_edit < delay else 0.0

    def _find_targets(self, path: str) -> bool:
        """Look for what to trace. While the file does not parse: False, and what is known of it is kept."""
        snapshot = self.documents.snapshot()
        lines = snapshot.lines_of(path)
        settings = self.settings_of(path)
        traces = self.workspace.traces(path) and settings.includes(path)
        targets = self._finder.find(path, lines.text) if lines and traces else ()
        if targets is None:
            self.on_result(path, True)
            return False
        result = self.results.setdefault(path, FileResult())
        result.mistakes = findings_in_text(path, snapshot, settings.selection) if traces else ()
        before, result.traced = result.traced, {}
        for target in targets:
            if place := snapshot.place(target.span):
                last = before.get(target.key, Traced(target, place))
                result.traced[target.key] = dataclasses.replace(last, target=target, place=place)
        return True

    async def _ask_agent(self, path: str) -> None:
        """Have the file's targets traced, and keep each report as it comes."""
        traced = self.results[path].traced
        if traced and not self.held_back:
            snapshot = self.documents.snapshot()
            silent = set(traced)
            targets = tuple(item.target for item in self._by_distance(path, traced.values()))
            roots = self.workspace.roots_of(path)
            request = Trace(path, targets, snapshot.overlays(), roots, self.settings_of(path).limits)
            answers = self._agent_for(Path(self.workspace.folder_of(path))).trace(request)
            # Leaving the block closes the generator, and that cancels the request.
            async with contextlib.aclosing(answers):
                async for answer in answers:
                    if isinstance(answer, Done):
                        self._keep_dependencies(path, answer, snapshot)
                    else:
                        silent.discard(answer.target)
                        self._keep_report(path, answer, snapshot)
            self._drop_kept(path)
            for key in silent:
                # There is no agent to be had: what an earlier one said is of another text or another Python.
                traced[key] = Traced(traced[key].target, traced[key].place)
        self.on_result(path, True)

    def _by_distance(self, path: str, traced: Iterable[Traced]) -> list[Traced]:
        """The targets from that which was edited last, whose name stands before the edit, to the farthest away."""
        edit = self.documents.last_edit(path).new_end
        return sorted(traced, key=lambda item: (item.place.start > edit, abs(item.place.start - edit)))

    def _keep_report(self, path: str, report: Report, snapshot: Snapshot) -> None:
        traced = self.results[path].traced
        last = traced[report.target]
        roots = self.workspace.roots_of(path)
        selection = self.settings_of(path).selection
        findings = findings_of(last.target, report, snapshot, lambda file: self.workspace.owns(file, roots), selection)
        kept = self._behind(findings, last, selection) if report.partial else ()
        traced[report.target] = Traced(last.target, last.place, report, tuple(findings), kept)
        self.on_result(path, False)

    def _behind(self, found: Iterable[Finding], last: Traced, selection: Selection) -> tuple[Finding, ...]:
        """What was known of a trace behind what is ``found`` of it now, as far as it may still be so."""
        if not last.is_told:
            return ()
        snapshot, places = self.documents.snapshot(), [item.place for item in self._standing(found)]
        known = [*self._standing((*last.findings, *last.kept))]
        again = [any(map(item.place.touches, places)) for item in known]
        # What came before a failure that is met again was passed this time.
        passed = again.index(True) + 1 if True in again else 0
        return tuple(
            item
            for item, is_again in zip(known[passed:], again[passed:], strict=True)
            if not is_again and self.documents.is_open(item.place.path) and is_shown(item, snapshot, selection)
        )

    def _drop_kept(self, path: str) -> bool:
        """Let go of what might have been found again of a file: nothing more is to come. Whether there was any."""
        result = self.results.get(path)
        keeping = [item for item in result.traced.values() if item.kept] if result else []
        for item in keeping:
            self.results[path].traced[item.target.key] = dataclasses.replace(item, kept=())
        return bool(keeping)

    def _keep_dependencies(self, path: str, done: Done, snapshot: Snapshot) -> None:
        dependencies = frozenset(done.dependencies) - {path}
        self.results[path].dependencies = dependencies
        # An edit of one of them since the request was made went by: it was not yet known whom it concerns.
        if any(self.documents.changed_since(other, snapshot.moment) for other in dependencies):
            asyncio.get_running_loop().call_soon(self._again, path)

    def _dependants(self, path: str) -> list[str]:
        return [other for other, result in self.results.items() if path in result.dependencies]

    def _built_elsewhere(self, names: Collection[str]) -> list[str]:
        """The files that have a class of one of these names that they don't show how to build themselves."""
        return [
            path
            for path, result in self.results.items()
            if any(is_open(t.target) and t.target.symbol in names for t in result.traced.values())
        ]

    async def _again_if_otherwise(self, path: str) -> None:
        """Trace a file again if other files show how to build its classes otherwise than they did."""
        known = {key: item.target for key, item in self.results[path].traced.items()}
        found = await self.completed(path, self._finder.find(path, self.documents.text(path) or "") or ())
        if path in self.results and {target.key: target for target in found} != known:
            self._again(path)

    def _again(self, path: str) -> None:
        """Trace a file for another reason than its own edit; one that waits for quiet will be traced anyway."""
        if path in self.results and path not in self._quiet:
            self._start(path, self.trace(path))

    def _start(self, path: str, work: Coroutine[Any, Any, None]) -> None:
        self._stop(path)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[path] = task
        task.add_done_callback(lambda done: self._ended(path, done))

    def _stop(self, path: str) -> None:
        """Take back everything that is planned or under way for a file."""
        if timer := self._quiet.pop(path, None):
            timer.cancel()
        if task := self._tasks.pop(path, None):
            task.cancel()

    def _ended(self, path: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(path) is task:
            del self._tasks[path]
        if not task.cancelled() and (error := task.exception()):
            log.error("tracing %s failed", path, exc_info=error)
