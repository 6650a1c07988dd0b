"""Traces files from the start once they are quiet, to prepare for the next edit and to confirm what was answered."""

from __future__ import annotations

from collections.abc import Callable

from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent

PREPARE_SECONDS = 2.0
"""How long it is quiet before processes are kept for a file that has none, so that its next edit has a quick answer."""

CONFIRM_SECONDS = 10.0
"""How long it is quiet before quick answers are confirmed. They have not been seen to differ, and a trace after every
short pause would cost more than the quick answers save."""


MOST_PREPARED = 3
"""For how many files processes are kept ahead; an agent doesn't keep more (``agent/serving/kept_children.py``)."""


class KeptReportChecks(IdleWork):
    """Has quick answers confirmed, or replaced, by new traces. Must be used from one event loop.

    The agent keeps the processes of these traces, and answers the next edits from there. Therefore, files that were
    only opened are traced, too; of several, those that were opened last.
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
        """Trace a file from the start; if that shows that its reports are wrong, trace it again for all to see."""
        scheduler, agent = self._scheduler, self._agent_for(path)
        result = scheduler.results.get(path)
        is_current = scheduler.results.is_current(path)  # otherwise, another trace is still to come
        if result is None or not (is_current and isinstance(agent, KeepingAgent)):
            return
        if agent.is_prepared(path) and not agent.is_unchecked(path):
            return
        request = scheduler.request(path, [*result.traced.values()], scheduler.documents.snapshot())
        if not await agent.check(request):
            # From the start, or a report that is never the same would be checked again and again.
            agent.forget(path)
            agent.release(path)
            scheduler.trace_again(path)
