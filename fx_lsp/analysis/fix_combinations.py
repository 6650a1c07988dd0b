"""Combines the proven fixes of a file's failures into one edit, and checks that they work together.

For each target in which it should fix something, the edit is tried like a single fix, with each capture that counts for
the target. The other targets of the file are traced and captured again: what could be captured before must still be,
and if its graph has changed, the edit is tried for it, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from fx_lsp.agent.messages import Capture, Failure, Report, Target, Verdict
from fx_lsp.analysis.fix_trials import FixTrials, edited_target
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.analysis.target_captures import CAPTURE_TIME_FACTOR
from fx_lsp.analysis.worker_tasks import in_order
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.merged_changes import conflict, merged, without_clashes
from fx_lsp.fixes.editing.text_edits import applied

MOST_FAILURES = 25
"""How many failures of one file are handled at a time."""

FIX_ALL = "Apply all proven fixes in this file"

MOST_ATTEMPTS = 3
"""How often the first fixes of all failures are tried at the same time, each time without those that did not work."""

Identity = tuple[str, ...]
"""See `FixCombinations.identity`."""

_Chosen = dict[Fix, list[Failure]]
"""Fixes, and which failures each of them should mend."""

_ProvenParts = dict[tuple[Capture, str], list[Fix]]
"""By capture and the key of a target: the fixes that are proven for it, as parts of an edit with other fixes."""


class FixCombinations:
    """Combines fixes that ``trials`` has proven for the results of ``scheduler``."""

    def __init__(self, scheduler: Scheduler, trials: FixTrials) -> None:
        self._scheduler = scheduler
        self._trials = trials
        self.jobs = 1
        """For how many targets of a file an edit is tried at a time."""

    async def prove_at_once(self, path: str, given_up: set[Identity] | None = None) -> Fix | None:
        """The first fix of each of a file's failures as one edit; None unless it fixes several and is proven.

        Trying the edit once takes as long as trying a single fix. Fixes that are not proven as a part of it are left
        out, and the rest is tried again. ``given_up``: the fixes to leave out from the beginning; those are added that
        are refuted for a target that no other fix should mend.
        """
        given_up = set() if given_up is None else given_up
        chosen: _Chosen = {}
        for failure in self._failures(path):
            fixes = await asyncio.to_thread(self._trials.first_fixes, failure)
            provable = (fix for fix in fixes if not fix.rejects_inputs)
            left = (fix for fix in provable if self.identity(failure, fix) not in given_up)
            first = next((fix for fix in left if _fits(fix, chosen)), None)
            if first is not None:
                chosen.setdefault(first, []).append(failure)
        proven: _ProvenParts = {}
        for _ in range(MOST_ATTEMPTS):
            if sum(map(len, chosen.values())) < 2:
                break
            together = self._as_one(chosen)
            working = await self._working(path, together, chosen, given_up, proven)
            if working == chosen:
                return together if await self._leaves_alone(path, together, chosen) else None
            if not all(each.is_directive for each in chosen.keys() - working.keys()):
                proven.clear()  # what is left out may have been a part of any of the proofs
            chosen = working
        return None

    async def prove_together(
        self, path: str, *, unproven: bool = False, given_up: set[Identity] | None = None
    ) -> Fix | None:
        """The proven fixes of a file's failures as one edit that is itself proven; None if no fix works.

        Fixes that overlap with others are left out. If the fixes don't work together, only the first that works alone
        is returned. ``unproven``: fixes that could not be tried count as proven. ``given_up``: the fixes that are not
        to be tried again; those that were not proven are added.
        """
        wanted = ("proven", "untried") if unproven else ("proven",)
        given_up = set() if given_up is None else given_up
        before = frozenset(given_up)
        chosen: _Chosen = {}
        for failure in self._failures(path):
            async for fix in self._trials.one_by_one(failure):
                identity = self.identity(failure, fix)
                if not _fits(fix, chosen) or identity in before or fix.rejects_inputs:
                    continue
                if fix not in chosen and (await self._trials.prove(failure, fix)).verdict not in wanted:
                    given_up.add(identity)
                    continue
                chosen.setdefault(fix, []).append(failure)
                break
        if len(chosen) > 1 and await self._works(path, together := self._as_one(chosen), chosen, strictly=not unproven):
            return together
        for fix, failures in chosen.items():
            if await self._works(path, fix, {fix: failures}, strictly=not unproven):
                return fix
        return None

    def identity(self, failure: Failure, fix: Fix) -> Identity:
        """What identifies a fix of a failure, also after other edits of the file."""
        owner = self._scheduler.results.owner(failure)
        steps = [step.name for step in failure.chain]
        changes = [change.text for change in fix.changes]
        return (owner[1].target.key if owner else "", failure.kind, failure.operation, *steps, fix.title, *changes)

    def part_of(self, path: str, together: Fix, given_up: AbstractSet[Identity] = frozenset()) -> Identity:
        """The identity of the first fix in a file that is a part of the edit ``together``; empty if there is none.

        The edit has none of the fixes ``given_up``, though it may change the same places as one of them.
        """
        places = {change.span for change in together.changes}
        for failure in self._failures(path):
            for fix in self._trials.first_fixes(failure):
                identity = self.identity(failure, fix)
                if identity not in given_up and places.issuperset(change.span for change in fix.changes):
                    return identity
        return ()

    async def _works(self, path: str, fix: Fix, chosen: _Chosen, *, strictly: bool) -> bool:
        """Whether ``fix``, which combines the ``chosen`` fixes, is refuted for no target of the file.

        ``strictly``: each of the ``chosen`` fixes must also be proven, alone or as a part of ``fix``, for a target that
        it mends. What can't be tried for one target may be proven for another.
        """
        proven = self._known_as_proven(chosen)
        async with contextlib.aclosing(self._tried(path, fix, chosen, {})) as tried:
            async for its, verdict in tried:
                if verdict == "refuted":
                    return False
                if verdict == "proven":
                    proven.update(its)
        is_proven = proven == chosen.keys() or not strictly
        return is_proven and await self._leaves_alone(path, fix, chosen)

    async def _working(
        self, path: str, fix: Fix, chosen: _Chosen, given_up: set[Identity], known: _ProvenParts
    ) -> _Chosen:
        """Those of the ``chosen`` fixes that are proven as a part of ``fix``, which has all, and never refuted.

        ``known``: what need not be tried again; what is proven now is added. If several are refuted together for a
        target, those that are not proven for another target are blamed; if all are proven for others, all are. Those
        that are refuted for a target that no other of them should mend are added to ``given_up``.
        """
        proven, refuted = self._known_as_proven(chosen), list[list[Fix]]()
        async for its, verdict in self._tried(path, fix, chosen, known):
            if verdict == "refuted" and len(its) == 1:
                given_up.update(self.identity(failure, its[0]) for failure in chosen[its[0]])
            if verdict == "proven":
                proven.update(its)
            elif verdict == "refuted":
                refuted.append(its)
        blamed = {each for its in refuted for each in (set(its) - proven or its)}
        return {each: failures for each, failures in chosen.items() if each in proven - blamed}

    async def _tried(
        self, path: str, fix: Fix, chosen: _Chosen, known: _ProvenParts
    ) -> AsyncGenerator[tuple[list[Fix], Verdict], None]:
        """For each target that ``fix`` should mend: which of the ``chosen`` fixes mend it, and whether it does.

        ``known``: as for `_working`.
        """
        changes = without_clashes(chosen, self._scheduler.documents.text)

        async def tried(capture: Capture, traced: Traced, own: Sequence[Failure]) -> tuple[list[Fix], Verdict]:
            its = [each for each, failures in chosen.items() if not set(own).isdisjoint(failures)]
            key = capture, traced.target.key
            if known.get(key) == its:
                return its, "proven"
            proof = self._trials.known(own[0], fix) if len(own) == 1 else None
            if proof is None:
                part = merged(change for each in its for change in changes[each])
                proof = await self._trials.attempt(path, traced, own, fix, part)
            if proof.verdict == "proven":
                known[key] = its
            return its, proof.verdict

        counting = self._scheduler.results.counting(path)
        calls = [partial(tried, *item, own) for item in counting if (own := _own_failures(item[1], chosen))]
        async with contextlib.aclosing(in_order(calls, self.jobs)) as found:
            async for item in found:
                yield item

    def _known_as_proven(self, chosen: _Chosen) -> set[Fix]:
        return {
            each for each, failures in chosen.items() if any(self._is_proven(failure, each) for failure in failures)
        }

    def _is_proven(self, failure: Failure, fix: Fix) -> bool:
        proof = self._trials.known(failure, fix)
        return proof is not None and proof.verdict == "proven"

    async def _leaves_alone(self, path: str, fix: Fix, chosen: _Chosen) -> bool:
        """Whether an edit does not break the targets of the file in which it should not mend anything.

        They are captured in the edited text. If a target has the same graph as before, the edit does not concern it;
        otherwise the edit is tried.
        """
        counting = self._scheduler.results.counting(path)
        others = [(capture, traced) for capture, traced in counting if not _own_failures(traced, chosen)]
        snapshot = self._scheduler.documents.snapshot()
        edited = applied(fix.changes, snapshot.lines_of)
        overlays = {**snapshot.overlays(), **edited}
        for capture in dict.fromkeys(capture for capture, _ in others):
            its = [item for of, item in others if of == capture]
            pairs = [(item, edited_target(path, item.target, snapshot, edited)) for item in its if item.was_traced]
            targets = {item.target.key: target for item, target in pairs if target is not None}
            after = await self._reports(path, list(targets.values()), overlays, capture)
            for item in its:
                if item.report is None or item.target.key not in targets:
                    continue
                report = after.get(targets[item.target.key].key)
                if report is None or (item.report.outcome == "traced" and report.outcome != "traced"):
                    return False
                if (
                    _graph(report) != _graph(item.report)
                    and (await self._trials.attempt(path, item, [], fix, capture=capture)).verdict == "refuted"
                ):
                    return False
        return True

    async def _reports(
        self, path: str, targets: Sequence[Target], overlays: dict[str, str], capture: Capture
    ) -> dict[str, Report]:
        """The last report on each target, by its key, if the open documents have the texts ``overlays``."""
        found = await self._scheduler.completed(path, targets)
        factor = 1 if capture == "fx" else CAPTURE_TIME_FACTOR
        request = self._scheduler.request(path, (), self._scheduler.documents.snapshot(), factor)
        limits = dataclasses.replace(request.limits, at_once=1)  # nobody is waiting for it
        request = dataclasses.replace(request, targets=found, overlays=overlays, limits=limits, capture=capture)
        reports: dict[str, Report] = {}
        if found:
            async with contextlib.aclosing(self._trials.agent_for(path, capture).trace(request)) as answers:
                async for answer in answers:
                    if isinstance(answer, Report):
                        reports[answer.target] = answer
        return reports

    def _as_one(self, fixes: Iterable[Fix]) -> Fix:
        changes = without_clashes(fixes, self._scheduler.documents.text).values()
        return Fix(FIX_ALL, merged(change for its in changes for change in its))

    def _failures(self, path: str) -> list[Failure]:
        reports = [traced.report for _, traced in self._scheduler.results.counting(path) if traced.report]
        failures = (failure for report in reports for failure in report.failures if not failure.other_side)
        return list(dict.fromkeys(failures))[:MOST_FAILURES]


def _own_failures(traced: Traced, chosen: _Chosen) -> list[Failure]:
    """The failures of a target that the ``chosen`` fixes should mend."""
    known = traced.report.failures if traced.report else ()
    return [failure for failures in chosen.values() for failure in failures if failure in known]


def _fits(fix: Fix, chosen: Iterable[Fix]) -> bool:
    return not any(
        conflict(change, other) for known in chosen if known != fix for other in known.changes for change in fix.changes
    )


def _graph(report: Report) -> tuple[object, ...]:
    """What a trace has recorded: the generated code or, if it failed, the kinds of its failures."""
    return report.outcome, report.code, [failure.kind for failure in report.failures if not failure.other_side]
