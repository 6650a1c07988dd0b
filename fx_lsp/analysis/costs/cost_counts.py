"""Has the agent count what traced targets cost, and keeps the counts.

In an editor, this is done while nothing is being traced or described: no one waits for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fx_lsp.agent.messages import Costs, NodeCosts, Report
from fx_lsp.analysis.costs.cost_expectations import has_expectations, unmet
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import Snapshot

TIME_FACTOR = 6
"""The time limit of a count, as a multiple of a trace's: counting traces, and may have to look for an input."""

NOT_COUNTED = "the count did not come to an end"


@dataclass(frozen=True)
class CostCount:
    """What one target costs, and the report on the trace that was counted."""

    costs: Costs
    report: Report

    def by_node(self, report: Report) -> Mapping[str, NodeCosts]:
        """By name: what the nodes cost of a graph on which there is a ``report``; empty if it is another graph."""
        return {node.name: node for node in self.costs.nodes} if self.report.code == report.code else {}


class CostCounts(IdleWork):
    """The latest counts for the targets in the results of ``scheduler``. Must be used from one event loop."""

    name = "counting what models cost"
    quiet_seconds = 0.3

    def __init__(self, scheduler: Scheduler, after: IdleWork) -> None:
        super().__init__(scheduler, after)
        self.on_counted: Callable[[str, str], None] = lambda path, key: None
        """Called with the path and the key of a target that has new costs."""
        self._known: dict[tuple[str, str], CostCount] = {}
        self._waiting: dict[str, None] = {}
        """Files that may have something to count, in order."""

    def of(self, path: str, key: str) -> Costs | None:
        """What a target costs, by the latest count; None if there is none, or if the target can't be traced now."""
        found = self.latest(path, key)
        return found.costs if found else None

    def in_file(self, path: str) -> Mapping[str, Costs]:
        """What the targets of a file cost, by their keys."""
        return {key: count.costs for (file, key), count in self._known.items() if file == path}

    def latest(self, path: str, key: str) -> CostCount | None:
        """The latest count of a target; None if there is none, or if the target can't be traced now."""
        return self._known.get((path, key))

    def has_expectations(self, path: str) -> bool:
        """Whether a file says what its models should cost."""
        return has_expectations(self._scheduler.documents.text(path) or "")

    def on_result(self, path: str, complete: bool) -> None:
        """Drop the counts of targets that are gone or can't be traced now; work begins once nothing is traced."""
        self.pause()
        result = self._scheduler.results.get(path)
        traced = result.traced if result else {}
        for file, key in list(self._known):
            if file == path and not _is_traced(traced.get(key)):
                del self._known[file, key]
                if result:
                    result.unmet.pop(key, None)
        if complete and result and result.parses and not self.has_expectations(path):
            for key in [key for key, unmet in result.unmet.items() if unmet]:
                result.unmet.pop(key)
                self.on_counted(path, key)
        if complete and traced and (self._scheduler.settings_of(path).costs != "off" or self.has_expectations(path)):
            self._waiting[path] = None
        self.begin()

    async def work(self) -> None:
        """Count the targets of the waiting files."""
        await self.do_in_turn(self._waiting, self.count)

    async def count(self, path: str) -> None:
        """Have the agent count those targets of a file whose latest reports have no count yet."""
        result = self._scheduler.results.get(path)
        targets_of_file = result.traced.items() if result else ()
        asked = {key: traced for key, traced in targets_of_file if self._is_new(path, traced)}
        if not asked:
            return
        snapshot = self._scheduler.documents.snapshot()
        request = self._scheduler.request(path, list(asked.values()), snapshot, TIME_FACTOR)
        async with contextlib.aclosing(self._scheduler.agent_for(path).count(request)) as answers:
            async for costs in answers:
                self._keep(path, asked[costs.target], costs, snapshot)
        for key, traced in asked.items():
            if self._is_new(path, traced):
                self._keep(path, traced, Costs(request.id, key, reason=NOT_COUNTED), snapshot)

    def _keep(self, path: str, traced: Traced, costs: Costs, snapshot: Snapshot) -> None:
        """Keep the costs of a target, which were counted in the texts of ``snapshot``."""
        assert traced.report is not None
        self._known[path, costs.target] = CostCount(costs, traced.report)
        selection = self._scheduler.settings_of(path).selection
        self._scheduler.results.keep_unmet(path, costs.target, unmet(path, traced, costs, snapshot, selection))
        self.on_counted(path, costs.target)

    def _is_new(self, path: str, traced: Traced) -> bool:
        """Whether a target can be traced, and what it costs by its latest report has not been counted."""
        known = self._known.get((path, traced.target.key))
        return _is_traced(traced) and (known is None or known.report is not traced.report)


def _is_traced(traced: Traced | None) -> bool:
    return traced is not None and traced.report is not None and traced.report.outcome == "traced"
