"""Tries single fixes and keeps the results, called proofs.

A proof belongs to the report of the failure that the fix is for: after the target's next report, the fix is tried
again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from fx_lsp.agent.messages import Capture, Failure, Outcome, Proof, Prove, Recipe, Report, Span, Target
from fx_lsp.analysis.enclosing_models import enclosing_models
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import Snapshot
from fx_lsp.fixes import Fix, ReadText, code_edits, fixes_for
from fx_lsp.fixes.editing import TextChange
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.fixes.fix_chains import proven_chain
from fx_lsp.rules import rule_for
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.targets import find_targets

log = logging.getLogger(__name__)

MOST_FIXES = 4
"""How many fixes of one failure are tried."""

MOST_ALIKE = 3
"""For how many further targets a fix is tried."""

MOST_UNREACHED = 2
"""Once no input has reached the code that a fix replaces in this many targets, the fix is tried for no other."""

_NO_MODEL = frozenset[Outcome]({"not-built", "not-imported", "timed-out", "out-of-memory", "crashed"})
"""How the trace of a model ends if the model can't be had at all."""

MOST_AT_ONCE = 24
"""For how many further failures of the same target a fix is tried at the same time."""

FindFixes = Callable[[Failure, ReadText, Sequence[Span]], tuple[Fix, ...]]
"""`fx_lsp.fixes.fixes_for`, or a function that also caches the fixes that it finds."""


class FixTrials:
    """Tries fixes for the failures in the results of ``scheduler``. Must be used from one event loop."""

    def __init__(
        self,
        scheduler: Scheduler,
        find_fixes: FindFixes = fixes_for,
        capturing_agent_for: Callable[[str], TracingAgent] | None = None,
    ) -> None:
        """``capturing_agent_for`` returns the agent for failures of other captures than ``fx``, by file."""
        self._scheduler = scheduler
        self._capturing_agent_for = capturing_agent_for or scheduler.agent_for
        self.find_fixes = find_fixes
        self._without_libcst = False
        self._known: dict[tuple[Failure, Fix], tuple[Report, Proof]] = {}
        self._alone: dict[tuple[Failure, Fix], tuple[Report, Proof]] = {}
        """Refuted proofs of fixes in the failures' own targets, which a trial of several failures at once has shown.
        The fixes may still be tried for other targets."""
        self._chains: dict[Failure, tuple[Report, Fix]] = {}
        """A proven fix of several edits for a failure of a report that no single edit fixes."""
        self._failures_of: dict[int, tuple[Report, dict[Fix, list[Failure]]]] = {}
        """By the ``id`` of a report: the report, which must live as long as its ``id`` is here, and what `_by_fix`
        returns for it."""
        self._no_models: dict[int, tuple[Report | None, set[Recipe]]] = {}
        """By the ``id`` of a report: the report, and recipes of models with its target that can't be built in time."""

    def fixes(self, failure: Failure) -> tuple[Fix, ...]:
        """The edits that may fix a failure; none if libcst is missing, as may be the case in an editor's Python."""
        try:
            return (*self.chained(failure), *self.in_order(failure, self._found(failure)))
        except ImportError as error:
            if not self._without_libcst:
                log.warning("fixes are not available: %s", error)
            self._without_libcst = True
            return ()

    def chained(self, failure: Failure) -> tuple[Fix, ...]:
        """The fix of several edits that was found and proven when no single edit was (see `proven_chain`), if any."""
        owner = self._scheduler.results.owner(failure)
        report, fix = self._chains.get(failure, (None, None))
        return (fix,) if fix and owner and owner[1].report is report else ()

    async def one_by_one(self, failure: Failure) -> AsyncIterator[Fix]:
        """The edits that are tried for a failure, and the one that `prove` finds by putting others together.

        Those that add an operator to the program come last.
        """
        fixes = await asyncio.to_thread(self.first_fixes, failure)
        yielded: list[Fix] = []
        for adds_operator in (False, True):
            single = [fix for fix in fixes if fix.adds_operator == adds_operator]
            for fix in single:
                yield fix
            yielded += single
            for fix in self.chained(failure):
                if fix not in yielded:
                    yielded.append(fix)
                    yield fix

    def in_order(self, failure: Failure, fixes: Iterable[Fix]) -> tuple[Fix, ...]:
        """``fixes``, first those that may also fix what another capture that counts for the target rejects there.

        Those that can't be proven come last.
        """
        others = {fix.changes for other in self._of_other_captures(failure) for fix in self._found(other)}
        return tuple(sorted(fixes, key=lambda fix: (fix.rejects_inputs, fix.changes not in others)))

    def _found(self, failure: Failure) -> tuple[Fix, ...]:
        results = self._scheduler.results
        owner = results.owner(failure)
        found = self.find_fixes(failure, self._reader(owner), results.calls_with(failure))
        return self._usable(found, owner[1].target) if owner else found

    def _usable(self, fixes: Iterable[Fix], target: Target) -> tuple[Fix, ...]:
        """``fixes`` without those with which a target could not be exported to ONNX, if the workspace does that."""
        to_onnx = self._scheduler.uses.of(target).to_onnx
        return tuple(fix for fix in fixes if not (to_onnx and fix.adds_operator))

    def _reader(self, owner: tuple[str, Traced] | None) -> ReadText:
        workspace = self._scheduler.workspace
        # The target's file says what is the workspace's: the folder of the failing file may be that of a library.
        return partial(self._own_text, workspace.roots_of(owner[0]) if owner else workspace.folders)

    def _of_other_captures(self, failure: Failure) -> list[Failure]:
        """The failures at the same place of a target that ``failure`` was reported for, by other captures of it."""
        results = self._scheduler.results
        owner = results.owner(failure)
        if owner is None or not failure.chain:
            return []
        path, target = owner[0], owner[1].target.key
        reports = [item.report for _, item in results.counting(path) if item.target.key == target and item.report]
        capture = rule_for(failure.kind).capture
        found = [other for report in reports for other in report.failures if other.chain]
        return [
            other
            for other in found
            if other.chain[-1].span == failure.chain[-1].span and rule_for(other.kind).capture != capture
        ]

    def first_fixes(self, failure: Failure) -> tuple[Fix, ...]:
        """The edits that are tried for a failure."""
        return self.fixes(failure)[:MOST_FIXES]

    def known(self, failure: Failure, fix: Fix) -> Proof | None:
        """The proof of ``fix``; None if the fix has not been tried for the latest report of the failure."""
        return self._current(self._known, failure, fix)

    def _current(
        self, proofs: Mapping[tuple[Failure, Fix], tuple[Report, Proof]], failure: Failure, fix: Fix
    ) -> Proof | None:
        owner = self._scheduler.results.owner(failure)
        report, proof = proofs.get((failure, fix), (None, None))
        return proof if owner and owner[1].report is report else None

    def forget_outdated(self) -> None:
        """Forget the proofs for older reports."""
        results = self._scheduler.results.values()
        current = {id(traced.report) for result in results for traced in result.all_traced}
        self._known, self._alone = (
            {case: item for case, item in proofs.items() if id(item[0]) in current}
            for proofs in (self._known, self._alone)
        )
        self._chains = {failure: item for failure, item in self._chains.items() if id(item[0]) in current}
        self._failures_of = {key: item for key, item in self._failures_of.items() if key in current}
        self._no_models = {key: item for key, item in self._no_models.items() if key in current}

    async def prove(self, failure: Failure, fix: Fix) -> Proof:
        """Return the proof of ``fix``, which is tried now unless it has been tried already.

        It is first tried for all of the target's failures that it is a fix of: one proof is enough if it is proven for
        all, or for those that still occur. If it can't be tried, it is tried for other targets that fail at the same
        place and, if inputs are lacking, in models that contain the target. Once no single edit is proven, several are
        tried together.
        """
        if known := self.known(failure, fix):
            return known
        owner = self._scheduler.results.owner(failure)
        if owner is None:
            return Proof(0, "untried", "the problem is not a failure of a trace")
        path, traced = owner
        is_tried = self._current(self._alone, failure, fix) is not None
        further = (
            []
            if is_tried or fix.rejects_inputs
            else await asyncio.to_thread(self._further_failures, failure, fix, traced)
        )
        if further and traced.report is not None:
            together = [failure, *further]
            proof = await self.attempt(path, traced, together, fix, twins_only=True)
            if proof.verdict == "proven":
                self._known |= {(each, fix): (traced.report, proof) for each in together}
                return proof
            self._alone |= {(together[at], fix): (traced.report, proof) for at in proof.unmended}
        proof = await self._tried(failure, fix, path, traced)
        if traced.report is not None:
            self._known[failure, fix] = traced.report, proof
            await self._put_together(failure, fix, path, traced, traced.report)
        return proof

    async def _tried(self, failure: Failure, fix: Fix, path: str, traced: Traced) -> Proof:
        """Try ``fix`` for the target ``traced`` of the file ``path`` and, if that says nothing, elsewhere.

        If a model around it can be run, but its trace then ends at another place, the function alone may prove the fix.
        """
        if fix.rejects_inputs:
            return Proof(0, "untried", "it leaves out code that some inputs may need, which no proof can rule out")
        proof = self._current(self._alone, failure, fix)
        proof = proof or await self.attempt(path, traced, [failure], fix, twins_only=True)
        alone = None
        if proof.of_lone_twin:
            if proof.verdict == "untried":  # what an input refutes is not proven by a part of the program
                alone = await self._function_alone(failure, fix, path, traced)
                if alone.verdict == "proven":
                    return alone
            proof = await self.attempt(path, traced, [failure], fix)
        unreached = int(proof.unreached)
        # A directive may be about a class of which this target is a part.
        if proof.verdict == "untried" or (proof.verdict == "refuted" and fix.is_directive):
            another, unreached = await self._tried_for_alike(failure, fix, proof)
            if another is not None:
                return another
        if proof.verdict != "untried" or not proof.lacks_inputs:
            return proof
        within = await self._tried_in_models(failure, fix, path, traced, MOST_UNREACHED - unreached)
        if within.verdict != "untried" and within.moved_to is None:
            return within
        alone = alone or await self._function_alone(failure, fix, path, traced)
        if alone.verdict == "proven":
            return alone
        return proof if within.verdict == "untried" and not within.unreached else within

    async def _tried_for_alike(self, failure: Failure, fix: Fix, proof: Proof) -> tuple[Proof | None, int]:
        """Try ``fix`` for other targets that fail at the same place; the first proof that says more than ``proof``.

        Also returns in how many targets, that of ``proof`` included, no input has reached the code.
        """
        unreached = int(proof.unreached)
        for other in self._alike(failure):
            if unreached == MOST_UNREACHED:
                break
            found = self._scheduler.results.owner(other)
            if found and fix in await asyncio.to_thread(self.first_fixes, other):
                another = self.known(other, fix) or await self.attempt(*found, [other], fix)
                unreached += another.unreached
                if another.verdict == "proven" and found[1].report is not None:
                    self._known[other, fix] = found[1].report, another
                if another.verdict == "proven" or (another.verdict == "refuted" and proof.verdict == "untried"):
                    return another, unreached
        return None, unreached

    async def _function_alone(self, failure: Failure, fix: Fix, path: str, traced: Traced) -> Proof:
        """Try ``fix`` on only the function that it changes.

        That may run although no program around it does, or can be traced, or has inputs that reach the code.
        """
        if rule_for(failure.kind).capture != "fx":
            return Proof(0, "untried", "only symbolic tracing is tried on a function alone")
        return await self.attempt(path, traced, [failure], fix, function_only=True)

    async def _tried_in_models(
        self,
        failure: Failure,
        fix: Fix,
        path: str,
        traced: Traced,
        most_unreached: int = MOST_UNREACHED,
        further: Sequence[Span] = (),
    ) -> Proof:
        """Try ``fix`` in the models that contain a target; the first proof that says something, or else the last one.

        If the target was traced as a part of a model, only that is tried: it may set up the part before it calls it.

        ``most_unreached``: once no input has reached the code in that many models, the fix is tried in no other.
        """
        if self._host(path, traced) is not None and not fix.is_directive:
            return await self.attempt(path, traced, [failure], fix, whole_host=True, further=further, twins_only=True)
        proof = Proof(0, "untried", "no model that contains the target was found, or can be built in time")
        _, in_vain = self._no_models.setdefault(id(traced.report), (traced.report, set()))
        for model in self._models_around(path, traced):
            if most_unreached <= 0:
                break
            if model in in_vain:
                continue
            twins_only = bool(further)  # many such edits are tried, one after another
            proof = await self.attempt(path, traced, [failure], fix, host=model, further=further, twins_only=twins_only)
            most_unreached -= proof.unreached
            if proof.verdict != "untried":
                break
            if proof.has_no_program:
                in_vain.add(model)
        return proof

    async def _put_together(self, failure: Failure, last: Fix, path: str, traced: Traced, report: Report) -> None:
        """Look for a fix of several edits, if all single ones like the ``last`` have been tried and none is proven.

        Edits that add an operator are put together with others only if nothing else helps.
        """
        if self.chained(failure):
            return
        fixes = await asyncio.to_thread(self.first_fixes, failure)
        alike = [fix for fix in fixes if fix.adds_operator <= last.adds_operator]
        begun = {fix: self.known(failure, fix) for fix in alike}
        proofs = [(fix, proof) for fix, proof in begun.items() if proof is not None]
        if len(proofs) < len(begun) or any(proof.verdict == "proven" for _, proof in proofs):
            return
        lines_of, read = self._scheduler.documents.snapshot().lines_of, self._reader((path, traced))
        attempt = partial(self._attempt_chain, path, traced, failure)

        def further(stop: Failure, read: ReadText) -> tuple[Fix, ...]:
            found = self._usable(code_edits(stop, read), traced.target)
            return tuple(fix for fix in found if fix.adds_operator <= last.adds_operator and not fix.rejects_inputs)

        provable = [(fix, proof) for fix, proof in proofs if not fix.rejects_inputs]
        same = [(fix, proof) for fix, proof in provable if fix.adds_operator == last.adds_operator]
        found = await proven_chain(same, lines_of, read, further, attempt)
        if found is not None:
            fix, proof = found
            self._chains[failure] = report, fix
            self._known[failure, fix] = report, proof

    async def _attempt_chain(
        self, path: str, traced: Traced, failure: Failure, fix: Fix, further: Sequence[Span]
    ) -> Proof:
        proof = await self.attempt(path, traced, [failure], fix, further=further, twins_only=True)
        if proof.verdict != "untried" or not proof.lacks_inputs:
            return proof
        return await self._tried_in_models(failure, fix, path, traced, further=further)

    def _further_failures(self, failure: Failure, fix: Fix, traced: Traced) -> list[Failure]:
        """The other failures of a target that have the same ``fix`` and for which it has not been tried yet."""
        if traced.report is None or failure not in traced.report.failures:
            return []
        alike = self._by_fix(traced.report).get(fix, [])
        tried = [each for each in alike if self.known(each, fix) or self._current(self._alone, each, fix)]
        return [each for each in alike if each != failure and each not in tried][:MOST_AT_ONCE]

    def _by_fix(self, report: Report) -> Mapping[Fix, Sequence[Failure]]:
        """The failures of a report by the fixes that are tried for them, which takes some time to find out."""
        if id(report) not in self._failures_of:
            found: dict[Fix, list[Failure]] = {}
            for failure in [each for each in report.failures if not each.other_side][: 2 * MOST_AT_ONCE]:
                for fix in self.first_fixes(failure):
                    found.setdefault(fix, []).append(failure)
            self._failures_of[id(report)] = report, found
        return self._failures_of[id(report)][1]

    async def attempt(
        self,
        path: str,
        traced: Traced,
        failures: Sequence[Failure],
        fix: Fix,
        own: Iterable[TextChange] = (),
        *,
        full_size: bool = False,
        twins_only: bool = False,
        function_only: bool = False,
        capture: Capture | None = None,
        host: Recipe | None = None,
        whole_host: bool = False,
        further: Sequence[Span] = (),
    ) -> Proof:
        """Try a fix of several failures of one target. ``own``: the changes that fix these, if not all of them do.

        ``full_size``: try it on the target itself, even if there are small twins. ``function_only``: run only the
        function that the edit changes. ``capture``: the one that has the failures or, if there are none, the one that
        must not fail more often after the edit; None means that of the failures, or ``fx``. ``host``: try it on the
        first submodule of the target's class in what this recipe builds; None means what was traced.
        ``whole_host``: try it on all of what that builds. ``twins_only`` and ``further``: as in `Prove`.
        """
        snapshot = self._scheduler.documents.snapshot()
        edited = applied(fix.changes, snapshot.lines_of)
        target = edited_target(path, traced.target, snapshot, edited)
        if target is None:
            return Proof(0, "untried", "the target was not found in the edited text")
        if path in edited:
            (target,) = await self._scheduler.completed(path, [target])
        host = host or self._host(path, traced)
        before, target = (
            _whole(each, host) if host and whole_host else _as_traced(each, traced.report, host)
            for each in (traced.target, target)
        )
        workspace, limits = self._scheduler.workspace, self._scheduler.settings_of(path).limits
        if capture is None:
            capture = rule_for(failures[0].kind).capture if failures else "fx"
        request = Prove(
            path,
            before,
            target,
            tuple(failures),
            overlays=snapshot.overlays(),
            edited=edited,
            own_part=applied(own, snapshot.lines_of),
            full_size=full_size,
            twins_only=twins_only,
            function_only=function_only,
            capture=capture,
            roots=workspace.roots_of(path),
            limits=limits,
            further=tuple(further),
        )
        return await self.agent_for(path, capture).prove(request)

    def agent_for(self, path: str, capture: Capture) -> TracingAgent:
        """The agent that makes a capture of the targets of a file."""
        return (self._scheduler.agent_for if capture == "fx" else self._capturing_agent_for)(path)

    def _host(self, path: str, traced: Traced) -> Recipe | None:
        """The recipe of the module whose submodule was traced for a target; None if the target was built alone."""
        shown = traced.report.recipe if traced.report else ""
        if shown in {recipe.root.source for recipe in (traced.target.recipe, *traced.target.fallbacks)}:
            return None
        result = self._scheduler.results.get(path)  # None if the file has been closed meanwhile
        others = [other.target for other in result.traced.values() if other is not traced] if result else []
        recipes = [recipe for other in others for recipe in (other.recipe, *other.fallbacks)]
        return next((recipe for recipe in (*recipes, *traced.target.hosts) if has_part(recipe, shown)), None)

    def _models_around(self, path: str, traced: Traced) -> list[Recipe]:
        """How to build models that the target, which was built alone, is a part of, unless they can't be built."""
        result, lines = self._scheduler.results.get(path), self._scheduler.documents.snapshot().lines_of(path)
        if result is None or lines is None or self._host(path, traced) is not None:
            return []
        others = [
            other.target
            for other in result.traced.values()
            if other is not traced and not (other.report and _was_not_built(other.report))
        ]
        return enclosing_models(lines.text, traced.target, others)

    def _alike(self, failure: Failure) -> list[Failure]:
        """Failures of other targets at the same place, those with the shortest way there first."""
        reports = [
            traced.report
            for result in self._scheduler.results.values()
            for traced in result.all_traced
            if traced.report is not None
        ]
        known = [other for report in reports for other in report.failures if not other.other_side and other != failure]
        alike = [other for other in known if other.kind == failure.kind and other.chain[-1:] == failure.chain[-1:]]
        return sorted(alike, key=lambda other: len(other.chain))[:MOST_ALIKE]

    def _own_text(self, roots: Sequence[str], path: str) -> str | None:
        return self._scheduler.documents.text(path) if self._scheduler.workspace.owns(path, roots) else None


def _was_not_built(report: Report) -> bool:
    """Whether the trace of a model ended without the model: no fix can be tried on its parts."""
    return report.outcome in _NO_MODEL or (report.outcome == "unchecked" and not report.recipe)


def _as_traced(target: Target, report: Report | None, host: Recipe | None) -> Target:
    """The target with the recipe that led to ``report``.

    With a ``host``, it is the first submodule of its class in what that builds, traced as its own directives say.
    """
    if host is None:
        # With another recipe, the class may be built as well, but fail elsewhere.
        if report is None:
            return target
        return target.with_invented_arguments() if report.intent == "assumed" else target.beginning_with(report.recipe)
    own = target.recipe
    recipe = replace(host, is_host=True, concrete_args=own.concrete_args, tracer=own.tracer, leaves=own.leaves)
    return replace(target, recipe=recipe, fallbacks=())


def _whole(target: Target, host: Recipe) -> Target:
    """What the recipe of a target's host builds, as a target."""
    return replace(target, recipe=replace(host, is_host=False), symbol=None, fallbacks=())


def has_part(recipe: Recipe, shown: str) -> bool:
    """Whether ``shown`` is the expression for a submodule of what ``recipe`` builds, e.g. ``Net(dim=2).layers[0]``."""
    source = recipe.root.source
    is_whole = shown.endswith(")")
    return not is_whole and shown.startswith(f"{source}(" if recipe.made_up else (f"{source}.", f"{source}["))


def edited_target(path: str, target: Target, snapshot: Snapshot, edited: dict[str, str]) -> Target | None:
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
