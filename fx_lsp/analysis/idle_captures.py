"""Captures targets by other means than a trace while nothing is traced: where the workspace does so, and on request.

Here also is found out which captures the workspace uses; until then, every class is judged by symbolic tracing.
"""

from __future__ import annotations

import asyncio
from typing import get_args

from fx_lsp.agent.messages import Capture
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.analysis.target_captures import TargetCaptures


class IdleCaptures(IdleWork):
    """Keeps the captures of the targets in the results of ``scheduler`` up to date. Must be used from one event loop.

    It reports to `TargetCaptures.on_captured` which results have changed.
    """

    name = "capturing"
    quiet_seconds = 0.5
    seconds_after_edit = 0.0

    def __init__(self, scheduler: Scheduler, captures: TargetCaptures) -> None:
        super().__init__(scheduler)
        self._captures = captures
        self._seen = scheduler.uses.generation
        self._wanted: set[tuple[str, str]] = set()
        """The targets whose captures someone has asked for, whatever the workspace does."""
        self._waiting: dict[str, None] = {}
        """Files that may have something to capture, in order."""

    def want(self, path: str, key: str) -> None:
        """From now on, make every capture of a target. What is being captured begins anew, now or soon."""
        self.pause()
        self._wanted.add((path, key))
        self._waiting[path] = None
        self.begin(at_once=True)

    def begin_anew(self) -> None:
        """Look for the uses again, then capture: files have changed, even if nothing is traced because of that."""
        self.pause()
        self.begin()

    def pause(self) -> None:
        """Stop until the next `begin`: something is about to be traced."""
        super().pause()
        self._scheduler.uses.interrupt()

    def on_result(self, path: str, complete: bool) -> None:
        """Begin to capture the targets of a file once nothing is traced."""
        self.pause()
        result = self._scheduler.results.get(path)
        if result is None:
            self._wanted = {wanted for wanted in self._wanted if wanted[0] != path}
            self._waiting.pop(path, None)
        elif complete and result.parses:
            self._waiting[path] = None
        self.begin()

    async def work(self) -> None:
        """Find out what the workspace uses, then make those captures of the waiting files."""
        await self._update_uses()
        while self._waiting:
            path = next(iter(self._waiting))
            for capture in get_args(Capture):
                if capture != "fx" and self._scheduler.results.is_traced(path):  # else, a trace is still to come
                    await self._capture(path, capture)
            self._waiting.pop(path, None)

    async def _update_uses(self) -> None:
        """If the workspace uses other captures than before, all results are judged anew."""
        uses, paths = self._scheduler.uses, list(self._scheduler.documents.paths)
        if all(self._scheduler.settings_of(path).captures == ("fx",) for path in paths):
            return
        await asyncio.to_thread(uses.update, paths)
        if uses.generation != self._seen:
            self._seen = uses.generation
            for path in self._scheduler.results:
                self._waiting[path] = None
                self._captures.on_captured(path)

    async def _capture(self, path: str, capture: Capture) -> None:
        results = self._scheduler.results
        traced = results[path].traced if path in results else {}
        keys = {
            key
            for key, item in traced.items()
            if item.may_be_captured and ((path, key) in self._wanted or capture in results.captures_of(item.target))
        }
        gone = [key for key in traced.keys() - keys if (key, capture) in results[path].captured]
        for key in gone:
            results.drop_capture(path, key, capture)
        if gone:
            self._captures.on_captured(path)
        if keys:
            await self._captures.capture(path, capture, keys)
