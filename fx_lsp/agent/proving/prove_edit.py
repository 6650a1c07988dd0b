"""Tries an edit: examines the program before and after the edit, each in its own process, and compares the two.

An edit is proven when the failures that it should fix are gone, no failure is new (see `check_places`), and both the
edited program and its graph do the same as the old program on at least `input_search.LEAST` inputs. If one of these
can't be determined, the edit is not proven. A large program is represented by two small ones (see `small_twin`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from fx_lsp.agent.building.constructor_sizes import Sizes
from fx_lsp.agent.inventing.plan_memory import Plans
from fx_lsp.agent.messages import Heartbeat, Proof, Prove
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.processes.memory_reuse import reuse_freed_memory
from fx_lsp.agent.processes.priority import give_way_to_traces
from fx_lsp.agent.proving.failure_matching import FoundFailures, Place, check_mended, check_raised, comparable
from fx_lsp.agent.proving.new_text import NewText, NotImported
from fx_lsp.agent.proving.old_text import Explored, OldText, Packed
from fx_lsp.agent.proving.proof_context import ProofContext
from fx_lsp.agent.proving.proof_memory import AfterEdit, Remembered, key_of
from fx_lsp.agent.proving.run_in_child import ChildRunner, JobProcess, ProofEnded
from fx_lsp.agent.proving.twins.smaller_numbers import FEWEST, NARROWEST


def prove(request: Prove, builtin: Collection[str], remembered: Remembered | None, plans: Plans, emit: Emit) -> None:
    """In a child of the agent: try the edit, and emit the `Proof`, and a `Remembered` for the target's next proof.

    ``builtin`` is as in `Workspace`; ``remembered`` is from the last proof of the same target, if there was one;
    ``plans`` are the arguments that were invented when the target was traced last.
    """
    give_way_to_traces()
    reuse_freed_memory()
    ChildRunner.emit = staticmethod(lambda item: emit(Heartbeat(request.id)))
    trial = _EditProof(request, builtin, remembered, emit, plans)
    try:
        proof = Proof(request.id, "proven", trial.run())
    except ProofEnded as end:
        unmended = tuple(at for at, place in enumerate(trial.places) if place in end.unmended)
        doubts = end.lacks_inputs, end.unreached, end.moved_to, unmended, end.has_no_program, end.of_lone_twin
        proof = Proof(request.id, end.verdict, end.reason, *doubts)
        if end.lacks_inputs and (reason := trial.run_with_other_arguments()):
            proof = Proof(request.id, "proven", reason)
    emit(proof)


class _EditProof:
    """Handles one `Prove` request. Each of the two texts is imported in a process of its own, once."""

    def __init__(
        self,
        request: Prove,
        builtin: Collection[str],
        remembered: Remembered | None,
        emit: Emit,
        plans: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        context = ProofContext(request, builtin)
        self._old = JobProcess(context.apart, partial(OldText, context, plans))
        self._new = JobProcess(context.apart, partial(NewText, context))
        self._context = context
        self._request = request
        self._builtin = builtin
        self._edit = context.edit
        self._remembered = remembered
        self._after = AfterEdit.recalled(remembered, request)
        """Where the edited program breaks, as far as this proof knows."""
        self._emit = emit
        self.places: tuple[Place, ...] = ()
        """The place of each of the failures that the edit should fix, once that is known."""

    def run(self) -> str:
        """Try the edit; return in one sentence why it is proven. Raises `ProofEnded` if it is not proven.

        An edit that fails in the small twins of a model may be right in the model itself, if it names a size.
        """
        largest = self._edit.largest_number()
        small = not self._request.full_size and largest < NARROWEST
        if self._request.function_only:
            self._edit.changed_function()
        if self._request.failures and (self._request.capture != "fx" or not self._edit.changes_a_step()):
            self._check_early(small=small)
        before = self._examined(small=small)
        try:
            return self._compared(before)
        except ProofEnded as end:
            end.has_no_program = False  # it is the edited one that may take too long
            end.of_lone_twin = before.is_lone_twin
            if not before.is_small or (end.verdict == "refuted" and largest < FEWEST):
                raise
        return self._compared(self._examined(small=False))

    def run_with_other_arguments(self) -> str:
        """Why the edit is proven with the arguments that fx-lsp invents for the edited program; empty if it is not.

        What the program does behind the failure may show that it needs others than those that the failure left unseen.
        """
        request = self._request
        target, edited = request.target, request.edited_target
        if not (target.recipe.made_up and edited.recipe.made_up) or target.recipe.file or self._edit.fixes_argument:
            return ""
        try:
            before, shown = self._old(OldText.shown), self._new(NewText.shown)
            if shown == before or "…" in shown:  # what a part stands for that is not shown can't be evaluated
                return ""
            recipe = replace(target.recipe, root=replace(target.recipe.root, source=shown), made_up=False)
            targets = (replace(one, recipe=recipe, fallbacks=()) for one in (target, edited))
            other = replace(request, target=next(targets), edited_target=next(targets))
            self._old.close()
            self._new.close()
            return f"{_EditProof(other, self._builtin, None, lambda item: None).run()}, built by `{shown}`"
        except ProofEnded:
            return ""

    def _check_early(self, *, small: bool) -> None:
        """Raises `ProofEnded` if the edited program can't be captured, which takes little time to find out.

        If it needs the argument that the edit fixes, it can't be captured either.

        ``small``: as for `_examined`.
        """
        try:
            before = self._old(partial(OldText.explored, remembered=self._remembered, small=small))
            if not isinstance(before, Explored):
                self._remembered = before or self._remembered
                return
            self._remembered = before.remembered or self._remembered
            self.places = before.places
            after = self._found_after(before.sizes, before.plans, needs_cpu=before.found.needs_cpu)
        except ProofEnded:  # the rest of the proof will say what is wrong
            return
        if before.found.include(Counter(before.places), before.lines):
            try:
                self._check_explored(before, after)
            except ProofEnded:
                self._remember(before.remembered)
                raise

    def _check_explored(self, before: Explored, after: FoundFailures) -> None:
        """Raises `ProofEnded` if the failures show that the edited program can't be captured."""
        edit = self._edit
        if self._request.capture != "fx":
            self._context.check_places(before.found, after, Counter(before.places))
            return
        mended = comparable(before.found, after, Counter(before.places), edit.edited_lines(), edit.gone_lines())
        check_mended(before.found, after, mended)
        if edit.fixes_argument:
            check_raised(before.found, after)

    def _examined(self, *, small: bool) -> Packed:
        """What the program does before the edit. ``small``: what its small twins do, if there are any."""
        before = self._old(partial(OldText.examined, remembered=self._remembered, small=small))
        self._remember(before.remembered)
        if before.ended is not None:
            raise before.ended
        return before

    def _compared(self, before: Packed) -> str:
        """Compare what the program does after the edit; return why the edit is proven. Raises `ProofEnded`."""
        try:
            known = None
            if before.is_explored:
                known_before = self._after
                known = self._found_after(before.sizes, before.plans, needs_cpu=before.needs_cpu)
                if self._after is not known_before:
                    self._remember(self._remembered)
            return self._new(partial(NewText.compared, packed=before.before, known=known, plans=before.plans))
        except NotImported as end:
            raise ProofEnded("refuted", f"after the edit, {end.reason}") from None

    def _found_after(self, sizes: Sizes, plans: Plans, *, needs_cpu: bool) -> FoundFailures:
        """Where the edited program breaks, with guessed inputs, which are tried once. Raises `ProofEnded`.

        The arguments are as for `NewText.failures`.
        """
        if (key := key_of(sizes)) not in self._after.found:
            found = self._new(partial(NewText.failures, sizes=sizes, plans=plans, needs_cpu=needs_cpu))
            self._after = self._after.with_one_more(key, found)
        return self._after.found[key]

    def _remember(self, remembered: Remembered | None) -> None:
        """Keep what was found out about the target for the next step, and for the next proof."""
        if remembered is not None:
            self._remembered = self._after.kept_in(remembered, self._request.overlays)
            self._emit(self._remembered)
