"""Traces files again from scratch, once they are quiet, if some of their reports were kept from an earlier trace."""

from __future__ import annotations

from collections.abc import Callable

from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent


class KeptReportChecks(IdleWork):
    """Has every kept report confirmed, or replaced, by a new trace. Must be used from one event loop."""

    name = "checking reports that were kept"
    quiet_seconds = 2.0

    def __init__(self, scheduler: Scheduler, agent_for: Callable[[str], TracingAgent], after: IdleWork) -> None:
        """A new trace ends all other idle work, so it waits until ``after``, which takes longest, is done."""
        super().__init__(scheduler, after)
        self._agent_for = agent_for
        self._waiting: dict[str, None] = {}
        """Files that may have kept reports, in order."""

    def on_result(self, path: str, complete: bool) -> None:
        """Wait until nothing has been traced for a while."""
        self.pause()
        if complete and path in self._scheduler.results:
            self._waiting[path] = None
        if self._waiting:
            self.begin()

    async def work(self) -> None:
        """Trace one file that has kept reports; its results lead to the next call."""
        while self._waiting:
            path = next(iter(self._waiting))
            del self._waiting[path]
            agent = self._agent_for(path)
            is_current = self._scheduler.results.is_current(path)  # otherwise, another trace is still to come
            if is_current and isinstance(agent, KeepingAgent) and agent.is_unchecked(path):
                agent.check(path)
                self._scheduler.trace_again(path)
                return
