"""Which fixes were tried, and what came of it. In the background, one at a time, while nothing is traced.

What a person looks at comes first, then the files that were last traced. What is known of a fix belongs to the report
of the failure that it mends: the next report of that target starts anew.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fx_lsp.agent.messages import Failure, Proof, Prove, Report, Target, Verdict
from fx_lsp.agent_pool import TracingAgent
from fx_lsp.analysis import Analysis, Traced
from fx_lsp.documents import Snapshot
from fx_lsp.edits import applied, overlap
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.idle_work import IdleWork
from fx_lsp.targets import find_targets
from fx_lsp.tracing_calls import calls_with

QUIET_SECONDS = 0.3
"""How long nothing is traced before the first proof."""

TIME_FACTOR = 3
"""How much more time a proof has than a trace: it traces twice, and runs the program."""

MOST_FIXES = 4
"""So many of a failure's fixes are tried."""

MOST_FAILURES = 25
"""So many of a file's failures are taken up in one go."""

FIX_ALL = "Apply all proven fixes in this file"


@dataclass(frozen=True)
class Together:
    """Fixes of one file that were proven, as one edit."""

    fix: Fix
    moment: int
    """Of the text that it is for."""


class Proofs:
    """What is known of the fixes for the failures that ``analysis`` reports. Belongs to one event loop."""

    def __init__(self, analysis: Analysis, agent_for: Callable[[Path], TracingAgent]) -> None:
        self._analysis = analysis
        self._agent_for = agent_for
        self._known: dict[tuple[Failure, Fix], tuple[Report, Proof]] = {}
        self._together: dict[str, Together] = {}
        self._urgent: dict[tuple[Failure, Fix], None] = {}
        self._idle: dict[str, None] = {}
        """Files to take up, in order."""
        self._idle_work = IdleWork("trying fixes", analysis, self._work, QUIET_SECONDS)

    @property
    def busy(self) -> bool:
        """Whether there is anything left to try."""
        return bool(self._urgent or self._idle)

    def known(self, failure: Failure, fix: Fix) -> Proof | None:
        """What came of trying ``fix``; None where it is not known (yet)."""
        owner = self._owner(failure)
        report, proof = self._known.get((failure, fix), (None, None))
        return proof if owner and owner[1].report is report else None

    def together(self, path: str) -> Fix | None:
        """All proven fixes of a file as one edit, if it is known and for the text as it is now."""
        found = self._together.get(path)
        documents = self._analysis.documents
        if found and not any(documents.changed_since(change.span.file, found.moment) for change in found.fix.changes):
            return found.fix
        return None

    def want(self, failure: Failure, fixes: Iterable[Fix]) -> None:
        """Try these before all others: somebody looks at them."""
        new = [(failure, fix) for fix in fixes if self.known(failure, fix) is None]
        new = [case for case in new[:MOST_FIXES] if case not in self._urgent]
        if new:
            self.pause()
            self._urgent.update(dict.fromkeys(new))
            self._idle_work.begin(at_once=True)

    def on_result(self, path: str, complete: bool) -> None:
        """As `Analysis.on_result`: forget what was known of older reports, and begin once nothing is traced."""
        self.pause()
        self._together.pop(path, None)
        if complete:
            current = {
                id(traced.report) for result in self._analysis.results.values() for traced in result.traced.values()
            }
            self._known = {case: item for case, item in self._known.items() if id(item[0]) in current}
            self._idle[path] = None
        self._idle_work.begin()

    def pause(self) -> None:
        """Stop until the next result: something is about to be traced."""
        self._idle_work.pause()

    async def close(self) -> None:
        """Stop all work, and wait until it has stopped."""
        await self._idle_work.close()

    async def prove(self, failure: Failure, fix: Fix) -> Proof:
        """Try ``fix`` now, unless that was done already."""
        if known := self.known(failure, fix):
            return known
        owner = self._owner(failure)
        if owner is None:
            return Proof(0, "untried", "it is not about a failure of a trace")
        path, traced = owner
        proof = await self._try(path, traced, [failure], fix)
        if traced.report is not None:
            self._known[failure, fix] = traced.report, proof
        return proof

    async def prove_at_once(self, path: str) -> Fix | None:
        """The first fix of each of a file's failures as one edit, if that is proven as it stands.

        It is tried once, where to try each of them takes as long for every one.
        """
        chosen: dict[Fix, list[Failure]] = {}
        for failure in self._failures(path):
            fixes = await asyncio.to_thread(self._fixes, failure)
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
        """The proven fixes of a file's failures as one edit that is proven itself; None where there is none.

        Where two are at the same place, or don't go together, some are left out. ``unproven``: those that could not
        be tried count as proven.
        """
        wanted = ("proven", "untried") if unproven else ("proven",)
        chosen: dict[Fix, list[Failure]] = {}
        for failure in self._failures(path):
            for fix in await asyncio.to_thread(self._fixes, failure):
                if not _fits(fix, chosen) or (await self.prove(failure, fix)).verdict not in wanted:
                    continue
                chosen.setdefault(fix, []).append(failure)
                break
        if len(chosen) < 2:
            return next(iter(chosen), None)
        together = _as_one(chosen)
        mended = [failure for failures in chosen.values() for failure in failures]
        async for verdict in self._verdicts(path, together, mended):
            if verdict == "refuted":  # what can't be tried for one target is proven for another
                return next(iter(chosen))
        return together

    async def _verdicts(self, path: str, fix: Fix, mended: Sequence[Failure]) -> AsyncIterator[Verdict]:
        """What comes of an edit for each of the file's targets that was traced, or failed."""
        for traced in list(self._analysis.results[path].traced.values()):
            report = traced.report
            if report is not None and report.outcome in ("traced", "failed"):
                own = [failure for failure in mended if failure in report.failures]
                yield (await self._try(path, traced, own, fix)).verdict

    async def _try(self, path: str, traced: Traced, failures: Sequence[Failure], fix: Fix) -> Proof:
        snapshot = self._analysis.documents.snapshot()
        edited = applied(fix.changes, snapshot.lines_of)
        target = _edited_target(path, traced.target, snapshot, edited)
        if target is None:
            return Proof(0, "untried", "what to trace is not to be found in the edited text")
        if path in edited:
            (target,) = await self._analysis.completed(path, [target])
        workspace, limits = self._analysis.workspace, self._analysis.settings_of(path).limits
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
        return await self._agent_for(Path(workspace.folder_of(path))).prove(request)

    def _owner(self, failure: Failure) -> tuple[str, Traced] | None:
        """The file and the first target that was reported to have the failure."""
        for path, result in self._analysis.results.items():
            for traced in result.traced.values():
                if traced.report is not None and failure in traced.report.failures:
                    return path, traced
        return None

    def _failures(self, path: str) -> list[Failure]:
        result = self._analysis.results.get(path)
        reports = [traced.report for traced in result.traced.values() if traced.report] if result else []
        return list(dict.fromkeys(failure for report in reports for failure in report.failures))[:MOST_FAILURES]

    def _fixes(self, failure: Failure) -> tuple[Fix, ...]:
        try:
            return fixes_for(failure, self._own_text, calls_with(failure, self._analysis.results))[:MOST_FIXES]
        except ImportError:  # this Python has no libcst
            return ()

    def _own_text(self, path: str) -> str | None:
        workspace = self._analysis.workspace
        return self._analysis.documents.text(path) if workspace.owns(path, workspace.roots_of(path)) else None

    async def _work(self) -> None:
        while self._urgent:
            failure, fix = next(iter(self._urgent))
            await self.prove(failure, fix)
            self._urgent.pop((failure, fix), None)
        while self._idle:
            path = next(iter(self._idle))
            moment = self._analysis.documents.snapshot().moment
            if together := await self.prove_together(path):
                self._together[path] = Together(together, moment)
            self._idle.pop(path, None)


def _fits(fix: Fix, chosen: Iterable[Fix]) -> bool:
    return not any(
        overlap(change, other) for known in chosen if known != fix for other in known.changes for change in fix.changes
    )


def _as_one(fixes: Iterable[Fix]) -> Fix:
    changes = dict.fromkeys(change for fix in fixes for change in fix.changes)
    return Fix(FIX_ALL, tuple(changes))


def _edited_target(path: str, target: Target, snapshot: Snapshot, edited: dict[str, str]) -> Target | None:
    """The target in the edited text: by its key; where the edit changes the call that it stands for, by its place."""
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
