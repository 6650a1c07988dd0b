"""Finds out, for an expectation that no longer holds, in which commit it last did.

For each of the latest commits of the file, the agent counts what the model cost with the file's text as it was then;
everything else is as it is now. This is done after the warning was shown, and changes its message.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable

from fx_lsp.agent.messages import Costs
from fx_lsp.analysis.costs.cost_counts import TIME_FACTOR, CostCounts
from fx_lsp.analysis.costs.cost_expectations import Held, broken, holds_for, unmet
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.targets import find_targets
from fx_lsp.workspace.git_history import earlier_texts

MOST_COMMITS = 20
"""How many commits are tried before the search is given up."""


class CostGrowth(IdleWork):
    """Says in the warnings about costs what has grown since they held. Must be used from one event loop."""

    name = "finding what made a model grow"
    quiet_seconds = 1.0

    def __init__(self, scheduler: Scheduler, counts: CostCounts) -> None:
        super().__init__(scheduler, after=counts)
        self._counts = counts
        self.on_told: Callable[[str, str], None] = lambda path, key: None
        """Called with the path and the key of a target that has another warning."""
        self._waiting: dict[str, None] = {}

    def on_result(self, path: str, complete: bool) -> None:
        """Begin when the costs have been counted."""
        self.pause()
        if complete and path in self._scheduler.results and self._counts.has_expectations(path):
            self._waiting[path] = None
        if self._waiting:
            self.begin()

    async def work(self) -> None:
        """Look into the history of the waiting files."""
        while self._waiting:
            path = next(iter(self._waiting))
            result = self._scheduler.results.get(path)
            for key, traced in list(result.traced.items()) if result else ():
                await self._explain(path, key, traced)
            self._waiting.pop(path, None)

    async def _explain(self, path: str, key: str, traced: Traced) -> None:
        """Say of each condition that a target breaks what has grown since it held, if the file's history shows it."""
        costs, snapshot = self._counts.of(path, key), self._scheduler.documents.snapshot()
        lines = snapshot.lines_of(path)
        open_conditions = list(broken(traced, costs, lines.text)) if costs and lines else []
        if costs is None or not open_conditions:
            return
        held: dict[str, Held] = {}
        async with contextlib.aclosing(earlier_texts(path, MOST_COMMITS)) as history:
            async for commit, text in history:
                earlier = await self._count(path, traced, text)
                for condition in open_conditions:
                    if earlier and holds_for(condition, earlier, costs):
                        held[condition.text] = Held(commit, earlier)
                open_conditions = [each for each in open_conditions if each.text not in held]
                if not open_conditions:
                    break
        if held and self._counts.of(path, key) is costs:
            selection = self._scheduler.settings_of(path).selection
            found = unmet(path, traced, costs, snapshot, selection, held)
            self._scheduler.results.keep_unmet(path, key, found)
            self.on_told(path, key)

    async def _count(self, path: str, traced: Traced, text: str) -> Costs | None:
        """What a target cost with an earlier text of its file; None if fx-lsp would have to guess how to build it."""
        shown = await asyncio.to_thread(find_targets, path, text)
        found = await self._scheduler.completed(path, shown or ())
        earlier = next((target for target in found if target.key == traced.target.key), None)
        if earlier is None or earlier.recipe.made_up:
            return None
        certain = dataclasses.replace(earlier, fallbacks=(), hosts=())
        now = dataclasses.replace(traced, target=certain)
        request = self._scheduler.request(path, [now], self._scheduler.documents.snapshot(), TIME_FACTOR)
        request = dataclasses.replace(request, overlays={**request.overlays, path: text})
        async with contextlib.aclosing(self._scheduler.agent_for(path).count(request)) as answers:
            async for costs in answers:
                return costs
        return None
