"""Traces files again once they are quiet, to prepare for the next edit and to confirm what was answered."""

from __future__ import annotations

from collections.abc import Callable

from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent

PREPARE_SECONDS = 2.0
"""How long it is quiet before targets of a file are built ahead, so that its next edit has a quick answer."""

CONFIRM_SECONDS = 10.0
"""How long it is quiet before quick answers are confirmed. They have not been seen to differ, and a trace after every
short pause would cost more than the quick answers save."""

MOST_PREPARED = 3
"""For how many files targets are built ahead; an agent keeps no more files (``agent/serving/kept_children.py``)."""

MOST_BUILT = 4
"""How many targets of a file are built ahead; no more are kept (``agent/keeping/kept_session.py``)."""


class KeptReportChecks(IdleWork):
    """Has targets built ahead, and quick answers confirmed or replaced by traces from the start.

    Of several files that were opened, it prepares those that were opened last. Must be used from one event loop.
    """

    name = "checking quick answers"
    quiet_seconds = PREPARE_SECONDS

    def __init__(self, scheduler: Scheduler, agent_for: Callable[[str], TracingAgent]) -> None:
        super().__init__(scheduler)
        self._agent_for = agent_for
        self._waiting: dict[str, None] = {}
        """Files that may have quick answers, in order."""

    def on_result(self, path: str, complete: bool) -> None:
        """Wait until nothing has been traced for a while."""
        self.pause()
        result = self._scheduler.results.get(path)
        if complete and result is not None and any(traced.report for traced in result.traced.values()):
            self._waiting[path] = None
            self.quiet_seconds = CONFIRM_SECONDS if all(map(self._is_prepared, self._waiting)) else PREPARE_SECONDS
        if self._waiting:
            self.begin()

    async def work(self) -> None:
        """Check every file that waits for it."""
        unprepared = [path for path in self._waiting if not self._is_prepared(path)]
        for path in unprepared[:-MOST_PREPARED]:
            del self._waiting[path]
        await self.do_in_turn(self._waiting, self._check)

    def _is_prepared(self, path: str) -> bool:
        agent = self._agent_for(path)
        return not isinstance(agent, KeepingAgent) or agent.is_prepared(path)

    async def _check(self, path: str) -> None:
        """Prepare a file, or trace it from the start; if its reports are then wrong, trace it again for all to see."""
        scheduler, agent = self._scheduler, self._agent_for(path)
        result = scheduler.results.get(path)
        is_current = scheduler.results.is_current(path)  # otherwise, another trace is still to come
        if result is None or not (is_current and isinstance(agent, KeepingAgent)):
            return
        snapshot, nearest = scheduler.documents.snapshot(), scheduler.nearest(path, result.traced.values())
        if not agent.is_unchecked(path):
            if not agent.is_prepared(path):
                await agent.prepare(scheduler.request(path, nearest[:MOST_BUILT], snapshot))
        elif not await agent.check(scheduler.request(path, nearest, snapshot)):
            # From the start, or a report that is never the same would be checked again and again.
            agent.forget(path)
            agent.release(path)
            scheduler.trace_again(path)
