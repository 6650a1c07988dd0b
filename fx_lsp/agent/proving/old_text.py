"""The steps of a proof that examine the program before the edit, in a process that has imported the old text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fx_lsp.agent.building.constructor_sizes import Sizes
from fx_lsp.agent.inventing.plan_memory import PLANS, Plans
from fx_lsp.agent.processes.tensor_pickles import packed
from fx_lsp.agent.proving.before_edit import BeforeEdit
from fx_lsp.agent.proving.failure_matching import FoundFailures, Place
from fx_lsp.agent.proving.proof_context import ProofContext
from fx_lsp.agent.proving.proof_memory import Findings, Remembered
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.proving.trial_programs import build_program


@dataclass(frozen=True)
class Explored:
    """Where the program, or its first small twin, breaks before the edit."""

    found: FoundFailures
    places: tuple[Place, ...]
    """The place of each of the failures that the edit should fix."""
    lines: tuple[tuple[Place, str, int], ...]
    """The same places, each with the file and the line where it begins."""
    sizes: Sizes
    """The numbers that make the twin small; none if it is the program itself."""
    plans: Plans
    """The arguments that were invented for the program."""
    remembered: Remembered | None
    """What the next step need not search for again."""


@dataclass(frozen=True)
class Packed:
    """A `ProgramBefore` for another process, which unpacks it once it has imported what the inputs are made of."""

    before: bytes
    """The pickle; empty if the proof ends here."""
    remembered: Remembered | None
    """What the next proof of the target need not search for again."""
    sizes: Sizes = field(default_factory=dict)
    """The numbers that make the program small."""
    is_small: bool = False
    """Whether the program is a small twin."""
    is_lone_twin: bool = False
    """Whether it is a twin of which no input reaches all the code that the edit replaces."""
    is_explored: bool = False
    """Whether guessed inputs, not its own, decide where the program breaks."""
    needs_cpu: bool = False
    """Whether it has to be built on the CPU to find out; see `FoundFailures`."""
    plans: Plans = field(default_factory=dict)
    """The arguments that were invented for the program."""
    ended: ProofEnded | None = None
    """Why the proof ends here, if it does."""


class OldText:
    """The file as it is before the edit, imported; its methods are the steps."""

    def __init__(self, context: ProofContext, plans: Mapping[str, str]) -> None:
        """Import the file as it is before the edit. Raises `ProofEnded` if that fails.

        ``plans`` are the arguments that were invented when the target was traced.
        """
        self._context = context
        self._file = context.import_old()
        PLANS.switch_on()
        PLANS.known.update(plans)

    def explored(self, remembered: Remembered | None, *, small: bool) -> Explored | Remembered | None:
        """Where the program breaks; if this is not found, only what the next step need not search for again.

        ``remembered`` is from an earlier step or proof; ``small`` is as for `BeforeEdit.examined`.
        """
        known = self._recalled(remembered)
        before = BeforeEdit(self._context, self._file, known)
        twins = before.twins() if small else None
        sizes = twins[0] if twins else {}
        try:
            found = before.failures(sizes)
        except ProofEnded:
            return self._remembered(known)
        return Explored(found, before.places, before.lines, sizes, PLANS.known, self._remembered(known))

    def examined(self, remembered: Remembered | None, *, small: bool) -> Packed:
        """What the program does; ``remembered`` and ``small`` are as for `explored`."""
        known = self._recalled(remembered)
        try:
            before = BeforeEdit(self._context, self._file, known).examined(small=small)
        except ProofEnded as end:
            return Packed(b"", remembered=self._remembered(known), ended=end)
        return Packed(
            packed(before),
            sizes=before.sizes,
            is_small=before.other is not None,
            is_lone_twin=bool(before.sizes and before.lacking),
            is_explored=before.on_way is None,
            needs_cpu=before.found.needs_cpu,
            plans=PLANS.known,
            remembered=self._remembered(known),
        )

    def shown(self) -> str:
        """The expression that builds the program."""
        return build_program(self._file, self._context.request.target).built.shown

    def _recalled(self, remembered: Remembered | None) -> Findings:
        """What is known about the target from earlier steps and proofs."""
        known = Findings.recalled(remembered, self._file, self._context.request.overlays)
        PLANS.known.update(known.plans)
        return known

    def _remembered(self, known: Findings) -> Remembered | None:
        known.plans = PLANS.known
        return known.remembered(self._file, self._context.request.overlays)
