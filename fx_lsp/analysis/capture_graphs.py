"""Has the agent describe the graphs of captures that a view shows, while nothing is being traced, and keeps them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from fx_lsp.agent.messages import Capture
from fx_lsp.analysis.graph_descriptions import GraphDescription
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.analysis.target_captures import TargetCaptures


class CaptureGraphs(IdleWork):
    """The graphs of wanted captures, each for the latest report on it. Must be used from one event loop.

    A capture is made again for this, since most of them are never looked at.
    """

    name = "describing what was captured"
    quiet_seconds = 0.15

    def __init__(self, scheduler: Scheduler, captures: TargetCaptures, after: IdleWork) -> None:
        super().__init__(scheduler, after)
        self._captures = captures
        self.on_described: Callable[[str, str], None] = lambda path, key: None
        """Called with the path and the key of a target that has a new description."""
        self._known: dict[tuple[str, str, Capture], GraphDescription] = {}
        self._wanted: dict[str, set[tuple[str, Capture]]] = {}
        """By path: the keys and captures that a view has asked for since they were last described. A view that still
        shows one asks again when a new report arrives, so nothing is captured for a view that was closed."""
        self._waiting: dict[str, None] = {}
        """Files that may have something to describe, in order."""

    def of(self, path: str, key: str, capture: Capture) -> GraphDescription | None:
        """The description of a capture's graph, None if it is not known yet; asks for that of the latest report."""
        item = self._scheduler.results.captured(path, key).get(capture)
        wanted = self._wanted.setdefault(path, set())
        if (key, capture) not in wanted and (item is None or self._is_new(path, key, capture, item)):
            wanted.add((key, capture))
            self.on_captured(path)
        return self._known.get((path, key, capture))

    def on_result(self, path: str, complete: bool) -> None:
        """Stop for the trace; forget a file that was closed."""
        self.pause()
        if self._scheduler.results.get(path) is None:
            self._wanted.pop(path, None)
            self._waiting.pop(path, None)
            self._known = {id: known for id, known in self._known.items() if id[0] != path}
        self.begin()

    def on_captured(self, path: str) -> None:
        """There may be a new report on a capture of a target of the file."""
        if self._wanted.get(path):
            self._waiting[path] = None
            self.begin(at_once=True)

    async def work(self) -> None:
        """Describe the wanted graphs of the waiting files."""
        await self.do_in_turn(self._waiting, self._describe)

    async def _describe(self, path: str) -> None:
        for key, capture in sorted(self._wanted.get(path, ())):
            item = self._scheduler.results.captured(path, key).get(capture)
            if item is not None and self._is_new(path, key, capture, item):
                await self._describe_one(path, capture, item)

    async def _describe_one(self, path: str, capture: Capture, item: Traced) -> None:
        snapshot, key = self._scheduler.documents.snapshot(), item.target.key
        answers = self._captures.described(path, capture, item, snapshot)
        async with contextlib.aclosing(answers):
            async for details in answers:
                assert item.report is not None
                description = GraphDescription(item.target.title, details, item.report, snapshot, item.place)
                await asyncio.to_thread(description.prepare)
                self._known[path, key, capture] = description
                self._wanted.get(path, set()).discard((key, capture))
                self.on_described(path, key)

    def _is_new(self, path: str, key: str, capture: Capture, item: Traced) -> bool:
        """Whether the graph of the latest report should be described and has not been."""
        known = self._known.get((path, key, capture))
        report = item.report
        is_due = report is not None and report.outcome == "traced" and not report.partial
        return is_due and (known is None or known.report is not report)
