"""Tries fixes, one at a time, while nothing is traced, and keeps the results, called proofs.

Fixes that someone is looking at are tried first, then the fixes in the files that were traced. A proof belongs to the
report of the failure that the fix is for: after the target's next report, its fixes are tried again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from fx_lsp.agent.messages import Failure, Proof, Prove, Report, Span, Target, Verdict
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import Snapshot
from fx_lsp.fixes import Fix, ReadText, fixes_for
from fx_lsp.fixes.editing.text_edits import applied, overlap
from fx_lsp.targets import find_targets

log = logging.getLogger(__name__)

TIME_FACTOR = 3
"""The time limit of a proof, as a multiple of a trace's: a proof traces twice, and runs the program."""

MOST_FIXES = 4
"""How many fixes of one failure are tried."""

MOST_FAILURES = 25
"""How many failures of one file are handled at a time."""

FindFixes = Callable[[Failure, ReadText, Sequence[Span]], tuple[Fix, ...]]
"""`fx_lsp.fixes.fixes_for`, or a function that also caches the fixes that it finds."""

FIX_ALL = "Apply all proven fixes in this file"


class FixProofs(IdleWork):
    """The proofs of the fixes for the failures in the results of ``scheduler``. Must be used from one event loop."""

    name = "trying fixes"
    quiet_seconds = 0.3

    def __init__(self, scheduler: Scheduler, find_fixes: FindFixes = fixes_for) -> None:
        super().__init__(scheduler)
        self.find_fixes = find_fixes
        self._without_libcst = False
        self._known: dict[tuple[Failure, Fix], tuple[Report, Proof]] = {}
        self._together: dict[str, tuple[Fix, int]] = {}
        """By file: its proven fixes as one edit, and the moment of the text that the edit is for."""
        self._urgent: dict[tuple[Failure, Fix], None] = {}
        self._idle: dict[str, None] = {}
        """The files whose fixes are to be tried, in order."""

    @property
    def busy(self) -> bool:
        """Whether there is anything left to try."""
        return bool(self._urgent or self._idle)

    def fixes(self, failure: Failure) -> tuple[Fix, ...]:
        """The edits that may fix a failure; none if libcst is missing, as may be the case in an editor's Python."""
        try:
            return self.find_fixes(failure, self._own_text, self._scheduler.results.calls_with(failure))
        except ImportError as error:
            if not self._without_libcst:
                log.warning("fixes are not available: %s", error)
            self._without_libcst = True
            return ()

    def known(self, failure: Failure, fix: Fix) -> Proof | None:
        """The proof of ``fix``; None if the fix has not been tried for the latest report of the failure."""
        owner = self._scheduler.results.owner(failure)
        report, proof = self._known.get((failure, fix), (None, None))
        return proof if owner and owner[1].report is report else None

    def together(self, path: str) -> Fix | None:
        """All proven fixes of a file as one edit; None if it is not known yet, or is for an older text."""
        fix, moment = self._together.get(path, (None, 0))
        documents = self._scheduler.documents
        if fix and not any(documents.changed_since(change.span.file, moment) for change in fix.changes):
            return fix
        return None

    def want(self, failure: Failure, fixes: Iterable[Fix]) -> None:
        """Try ``fixes`` before all others: someone is looking at them."""
        new = [(failure, fix) for fix in fixes if self.known(failure, fix) is None]
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
            current = {
                id(traced.report) for result in self._scheduler.results.values() for traced in result.traced.values()
            }
            self._known = {case: item for case, item in self._known.items() if id(item[0]) in current}
            self._idle[path] = None
        self.begin()

    async def prove(self, failure: Failure, fix: Fix) -> Proof:
        """Return the proof of ``fix``, which is tried now unless it has been tried already."""
        if known := self.known(failure, fix):
            return known
        owner = self._scheduler.results.owner(failure)
        if owner is None:
            return Proof(0, "untried", "the problem is not a failure of a trace")
        path, traced = owner
        proof = await self._try(path, traced, [failure], fix)
        if traced.report is not None:
            self._known[failure, fix] = traced.report, proof
        return proof

    async def prove_at_once(self, path: str) -> Fix | None:
        """The first fix of each of a file's failures as one edit; None unless it fixes several and is proven.

        Trying the edit once takes as long as trying a single fix.
        """
        chosen: dict[Fix, list[Failure]] = {}
        for failure in self._failures(path):
            fixes = await asyncio.to_thread(self._first_fixes, failure)
            first = next((fix for fix in fixes if _fits(fix, chosen)), None)
            if first is not None:
                chosen.setdefault(first, []).append(failure)
        mended = [failure for failures in chosen.values() for failure in failures]
        if len(mended) < 2:
            return None
        together = _as_one(chosen)
        verdicts = [verdict async for verdict in self._verdicts(path, together, mended)]
        return together if verdicts and set(verdicts) == {"proven"} else None

    async def prove_together(self, path: str, *, unproven: bool = False) -> Fix | None:
        """The proven fixes of a file's failures as one edit that is itself proven; None if no fix is proven.

        Fixes that overlap with others are left out. If the fixes don't work together, only the first fix is returned.
        ``unproven``: fixes that could not be tried count as proven.
        """
        wanted = ("proven", "untried") if unproven else ("proven",)
        chosen: dict[Fix, list[Failure]] = {}
        for failure in self._failures(path):
            for fix in await asyncio.to_thread(self._first_fixes, failure):
                if not _fits(fix, chosen) or (await self.prove(failure, fix)).verdict not in wanted:
                    continue
                chosen.setdefault(fix, []).append(failure)
                break
        if len(chosen) < 2:
            return next(iter(chosen), None)
        together = _as_one(chosen)
        mended = [failure for failures in chosen.values() for failure in failures]
        async for verdict in self._verdicts(path, together, mended):
            if verdict == "refuted":  # an edit that can't be tried for one target may be proven for another
                return next(iter(chosen))
        return together

    async def _verdicts(self, path: str, fix: Fix, mended: Sequence[Failure]) -> AsyncIterator[Verdict]:
        """The verdict on an edit for each target of the file that was traced, to its end or to a failure."""
        for traced in list(self._scheduler.results[path].traced.values()):
            report = traced.report
            if report is not None and report.outcome in ("traced", "failed"):
                own = [failure for failure in mended if failure in report.failures]
                yield (await self._try(path, traced, own, fix)).verdict

    async def _try(self, path: str, traced: Traced, failures: Sequence[Failure], fix: Fix) -> Proof:
        snapshot = self._scheduler.documents.snapshot()
        edited = applied(fix.changes, snapshot.lines_of)
        target = _edited_target(path, traced.target, snapshot, edited)
        if target is None:
            return Proof(0, "untried", "the target was not found in the edited text")
        if path in edited:
            (target,) = await self._scheduler.completed(path, [target])
        workspace, limits = self._scheduler.workspace, self._scheduler.settings_of(path).limits
        request = Prove(
            path,
            traced.target,
            target,
            tuple(failures),
            overlays=snapshot.overlays(),
            edited=edited,
            roots=workspace.roots_of(path),
            limits=dataclasses.replace(limits, seconds=TIME_FACTOR * limits.seconds),
        )
        return await self._scheduler.agent_for(path).prove(request)

    def _failures(self, path: str) -> list[Failure]:
        result = self._scheduler.results.get(path)
        reports = [traced.report for traced in result.traced.values() if traced.report] if result else []
        failures = (failure for report in reports for failure in report.failures if not failure.other_side)
        return list(dict.fromkeys(failures))[:MOST_FAILURES]

    def _first_fixes(self, failure: Failure) -> tuple[Fix, ...]:
        return self.fixes(failure)[:MOST_FIXES]

    def _own_text(self, path: str) -> str | None:
        workspace = self._scheduler.workspace
        return self._scheduler.documents.text(path) if workspace.owns(path, workspace.roots_of(path)) else None

    async def work(self) -> None:
        """Try the fixes that someone is looking at, then the fixes in the files that were traced."""
        while self._urgent:
            failure, fix = next(iter(self._urgent))
            await self.prove(failure, fix)
            self._urgent.pop((failure, fix), None)
        while self._idle:
            path = next(iter(self._idle))
            moment = self._scheduler.documents.snapshot().moment
            if together := await self.prove_together(path):
                self._together[path] = together, moment
            self._idle.pop(path, None)


def _fits(fix: Fix, chosen: Iterable[Fix]) -> bool:
    return not any(
        overlap(change, other) for known in chosen if known != fix for other in known.changes for change in fix.changes
    )


def _as_one(fixes: Iterable[Fix]) -> Fix:
    changes = dict.fromkeys(change for fix in fixes for change in fix.changes)
    return Fix(FIX_ALL, tuple(changes))


def _edited_target(path: str, target: Target, snapshot: Snapshot, edited: dict[str, str]) -> Target | None:
    """The target in the edited text, found by its key or, if the edit changes the call that traces it, by its place."""
    if path not in edited:
        return target
    lines = snapshot.lines_of(path)
    before = find_targets(path, lines.text) if lines else None
    after = find_targets(path, edited[path])
    if not before or not after:
        return None
    by_key = next((other for other in after if other.key == target.key), None)
    if by_key or len(before) != len(after):
        return by_key
    return next((new for old, new in zip(before, after, strict=True) if old.key == target.key), None)
