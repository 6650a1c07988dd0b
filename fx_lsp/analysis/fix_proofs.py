"""Tries fixes, one at a time, while nothing is traced.

Fixes that someone is looking at are tried first, then the fixes in the files that were traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fx_lsp.agent.messages import Failure
from fx_lsp.analysis.fix_combinations import FixCombinations
from fx_lsp.analysis.fix_trials import MOST_FIXES, FindFixes, FixTrials
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.supervisor.agent_pool import TracingAgent


class FixProofs(IdleWork):
    """The proofs of the fixes for the failures in the results of ``scheduler``. Must be used from one event loop."""

    name = "trying fixes"
    quiet_seconds = 0.3

    def __init__(
        self,
        scheduler: Scheduler,
        find_fixes: FindFixes = fixes_for,
        capturing_agent_for: Callable[[str], TracingAgent] | None = None,
    ) -> None:
        """The arguments are those of `FixTrials`."""
        super().__init__(scheduler)
        self.trials = FixTrials(scheduler, find_fixes, capturing_agent_for)
        self.combinations = FixCombinations(scheduler, self.trials)
        self._together: dict[str, tuple[Fix, int]] = {}
        """By file: its proven fixes as one edit, and the moment of the text that the edit is for."""
        self._urgent: dict[tuple[Failure, Fix], None] = {}
        self._idle: dict[str, None] = {}
        """The files whose fixes are to be tried, in order."""

    @property
    def busy(self) -> bool:
        """Whether there is anything left to try."""
        return bool(self._urgent or self._idle)

    def together(self, path: str) -> Fix | None:
        """All proven fixes of a file as one edit; None if the edit is not known yet, or is for an older text."""
        fix, moment = self._together.get(path, (None, 0))
        documents = self._scheduler.documents
        if fix and not any(documents.changed_since(change.span.file, moment) for change in fix.changes):
            return fix
        return None

    def is_waiting(self, failure: Failure, fix: Fix) -> bool:
        """Whether the fix is being tried, or is among the next ones, because someone is looking at it."""
        return (failure, fix) in self._urgent

    def want(self, failure: Failure, fixes: Iterable[Fix]) -> None:
        """Try ``fixes`` before all others: someone is looking at them."""
        new = [(failure, fix) for fix in fixes if self.trials.known(failure, fix) is None]
        new = [case for case in new[:MOST_FIXES] if case not in self._urgent]
        if new:
            self.pause()
            self._urgent.update(dict.fromkeys(new))
            self.begin(at_once=True)

    def on_result(self, path: str, complete: bool) -> None:
        """Forget the proofs for older reports, and begin to try fixes once nothing is traced."""
        self.pause()
        self._together.pop(path, None)
        if complete:
            self.trials.forget_outdated()
            self._idle[path] = None
        self.begin()

    async def work(self) -> None:
        """Try the fixes that someone is looking at, then the fixes in the files that were traced."""
        while self._urgent:
            failure, fix = next(iter(self._urgent))
            await self.trials.prove(failure, fix)
            self._urgent.pop((failure, fix), None)
        while self._idle:
            path = next(iter(self._idle))
            moment = self._scheduler.documents.snapshot().moment
            if together := await self.combinations.prove_together(path):
                self._together[path] = together, moment
            self._idle.pop(path, None)
