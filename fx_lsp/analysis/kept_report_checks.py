"""Traces files again from the start, once they are quiet, if an edit of them was answered in a quicker way."""

from __future__ import annotations

from collections.abc import Callable

from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent


class KeptReportChecks(IdleWork):
    """Has quick answers confirmed, or replaced, by new traces. Must be used from one event loop.

    The agent keeps the processes of these traces, and answers the next edits from there.
    """

    name = "checking quick answers"
    quiet_seconds = 2.0

    def __init__(self, scheduler: Scheduler, agent_for: Callable[[str], TracingAgent]) -> None:
        super().__init__(scheduler)
        self._agent_for = agent_for
        self._waiting: dict[str, None] = {}
        """Files that may have quick answers, in order."""

    def on_result(self, path: str, complete: bool) -> None:
        """Wait until nothing has been traced for a while."""
        self.pause()
        if complete and path in self._scheduler.results:
            self._waiting[path] = None
        if self._waiting:
            self.begin()

    async def work(self) -> None:
        """Check every file that waits for it."""
        await self.do_in_turn(self._waiting, self._check)

    async def _check(self, path: str) -> None:
        """Trace a file from the start; if that shows that its reports are wrong, trace it again for all to see."""
        scheduler, agent = self._scheduler, self._agent_for(path)
        result = scheduler.results.get(path)
        is_current = scheduler.results.is_current(path)  # otherwise, another trace is still to come
        if result is None or not (is_current and isinstance(agent, KeepingAgent) and agent.is_unchecked(path)):
            return
        request = scheduler.request(path, [*result.traced.values()], scheduler.documents.snapshot())
        if not await agent.check(request):
            # From the start, or a report that is never the same would be checked again and again.
            agent.forget(path)
            agent.release(path)
            scheduler.trace_again(path)
