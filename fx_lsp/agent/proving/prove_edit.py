"""Tries an edit: examines the program before and after the edit, each in its own process, and compares the two.

An edit is proven when the failures that it should fix are gone, no failure is new (see `check_places`), and both the
edited program and its graph do the same as the old program on at least `input_search.LEAST` inputs. If one of these
can't be determined, the edit is not proven. A large program is represented by two small ones (see `small_twin`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from fx_lsp.agent.building.constructor_sizes import Sizes, with_sizes
from fx_lsp.agent.messages import Heartbeat, Proof, Prove
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.processes.memory_reuse import reuse_freed_memory
from fx_lsp.agent.processes.priority import give_way_to_traces
from fx_lsp.agent.proving.before_edit import BeforeEdit, ProgramBefore
from fx_lsp.agent.proving.capture_failures import check_captured, check_fake_kernels
from fx_lsp.agent.proving.failure_matching import (
    FoundFailures,
    Places,
    check_capture_places,
    check_mended,
    check_places,
    check_raised,
    comparable,
    failures_met,
)
from fx_lsp.agent.proving.proof_context import ProofContext
from fx_lsp.agent.proving.proof_memory import Findings, Remembered, key_of
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.small_twin import FEWEST, NARROWEST
from fx_lsp.agent.proving.tensor_pickles import dumped, loaded
from fx_lsp.agent.proving.trial_programs import Program, build_program, function_of, side_effects, without_end
from fx_lsp.agent.proving.trial_runs import ProgramRuns, check_graph, check_program
from fx_lsp.agent.tracing.trace_target import ImportedFile


@dataclass(frozen=True)
class _Explored:
    """Where the program, or its first small twin, breaks before the edit."""

    found: FoundFailures
    mended: Places
    """The places of the failures that the edit should fix."""
    sizes: Sizes
    """The numbers that make the twin small; none if it is the program itself."""
    remembered: Remembered | None
    """What the next step need not search for again."""


@dataclass(frozen=True)
class _Packed:
    """A `ProgramBefore` for another process, which unpacks it once it has imported what the inputs are made of."""

    before: str
    is_small: bool
    """Whether the program is a small twin."""
    remembered: Remembered | None
    """What the next proof of the target need not search for again."""
    ended: ProofEnded | None = None
    """Why the proof ends here, if it does."""


def prove(request: Prove, builtin: Collection[str], remembered: Remembered | None, emit: Emit) -> None:
    """In a child of the agent: try the edit, and emit the `Proof`, and a `Remembered` for the target's next proof.

    ``builtin`` is as in `Workspace`; ``remembered`` is from the last proof of the same target, if there was one.
    """
    give_way_to_traces()
    reuse_freed_memory()
    ChildRunner.emit = staticmethod(lambda item: emit(Heartbeat(request.id)))
    trial = _EditProof(request, builtin, remembered, emit)
    try:
        proof = Proof(request.id, "proven", trial.run())
    except ProofEnded as end:
        proof = Proof(request.id, end.verdict, end.reason, end.lacks_inputs, end.moved_to)
        if end.lacks_inputs and (reason := trial.run_with_other_arguments()):
            proof = Proof(request.id, "proven", reason)
    emit(proof)


class _EditProof:
    """Handles one `Prove` request."""

    def __init__(self, request: Prove, builtin: Collection[str], remembered: Remembered | None, emit: Emit) -> None:
        self._context = ProofContext(request, builtin)
        self._request = request
        self._builtin = builtin
        self._edit = self._context.edit
        self._remembered = remembered
        self._emit = emit
        self._known_after: dict[str, FoundFailures] = {}
        """By `key_of`: where the edited program breaks, with guessed inputs."""

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
            return self._context.apart()(partial(self._after, before.before))
        except ProofEnded as end:
            if not before.is_small or (end.verdict == "refuted" and largest < FEWEST):
                raise
        return self._context.apart()(partial(self._after, self._examined(small=False).before))

    def run_with_other_arguments(self) -> str:
        """Why the edit is proven with the arguments that fx-lsp invents for the edited program; empty if it is not.

        What the program does behind the failure may show that it needs others than those that the failure left unseen.
        """
        request = self._request
        target, edited = request.target, request.edited_target
        if not (target.recipe.made_up and edited.recipe.made_up) or target.recipe.file or self._edit.fixes_argument:
            return ""
        try:
            before, shown = map(self._context.apart(), (self._shown_before, self._shown_after))
            if shown == before or "…" in shown:  # what a part stands for that is not shown can't be evaluated
                return ""
            recipe = replace(target.recipe, root=replace(target.recipe.root, source=shown), made_up=False)
            targets = (replace(one, recipe=recipe, fallbacks=()) for one in (target, edited))
            other = replace(request, target=next(targets), edited_target=next(targets))
            return f"{_EditProof(other, self._builtin, None, lambda item: None).run()}, built by `{shown}`"
        except ProofEnded:
            return ""

    def _shown_before(self) -> str:
        """The expression that builds the program before the edit."""
        return build_program(self._context.import_old(), self._request.target).built.shown

    def _shown_after(self) -> str:
        """As `_shown_before`, after the edit."""
        return build_program(self._context.import_new(), self._request.edited_target).built.shown

    def _check_early(self, *, small: bool) -> None:
        """Raises `ProofEnded` if the edited program can't be captured, which takes little time to find out.

        If it needs the argument that the edit fixes, it can't be captured either.

        ``small``: as for `_examined`.
        """
        try:
            before = self._context.apart()(partial(self._explored_before, small=small))
            if not isinstance(before, _Explored):
                self._remembered = before or self._remembered
                return
            self._remembered = before.remembered or self._remembered
            after = self._context.apart()(partial(self._explored_after, before.sizes))
            self._known_after[key_of(before.sizes)] = after
        except ProofEnded:  # the rest of the proof will say what is wrong
            return
        if not before.mended - before.found.places:
            try:
                if self._request.capture != "fx":
                    self._check_places(before, after)
                else:
                    check_mended(before.found, after, self._comparable(before, after))
                    if self._edit.fixes_argument:
                        check_raised(before.found, after)
            except ProofEnded:
                self._remember(before.remembered)
                raise

    def _examined(self, *, small: bool) -> _Packed:
        """What the program does before the edit. ``small``: what its small twins do, if there are any."""
        before = self._context.apart()(partial(self._before, small=small))
        self._remember(before.remembered)
        if before.ended is not None:
            raise before.ended
        return before

    def _remember(self, remembered: Remembered | None) -> None:
        """Keep what was found out about the target for the next step, and for the next proof."""
        if remembered is not None:
            self._remembered = remembered
            self._emit(remembered)

    # The next four methods each run in a process that imports one of the two texts.

    def _explored_before(self, *, small: bool) -> _Explored | Remembered | None:
        """Where the program breaks; if this is not found, only what the next step need not search for again."""
        file, known = self._recalled()
        before = BeforeEdit(self._context, file, known)
        twins = before.twins() if small else None
        sizes = twins[0] if twins else {}
        try:
            found = before.failures(sizes)
        except ProofEnded:
            return known.remembered(file, self._request.overlays)
        return _Explored(found, before.mended, sizes, known.remembered(file, self._request.overlays))

    def _explored_after(self, sizes: Sizes) -> FoundFailures:
        file = self._context.import_new()
        with with_sizes(sizes):
            return self._context.failures(file, self._request.edited_target)

    def _before(self, *, small: bool) -> _Packed:
        file, known = self._recalled()
        try:
            before = BeforeEdit(self._context, file, known).examined(small=small)
        except ProofEnded as end:
            return _Packed("", False, known.remembered(file, self._request.overlays), end)
        return _Packed(dumped(before), before.other is not None, known.remembered(file, self._request.overlays))

    def _after(self, packed: str) -> str:
        """Compare what the program does after the edit; return why the edit is proven. Raises `ProofEnded`."""
        try:
            file = self._context.import_new()
        except ProofEnded as end:
            raise ProofEnded("refuted", f"after the edit, {end.reason}") from None
        before: ProgramBefore = loaded(packed)
        with with_sizes(before.sizes):
            unlike = self._compare(before, file)
        if before.other is not None:
            sizes, runs = before.other
            with with_sizes(sizes):
                unlike += self._check(build_program(file, self._request.edited_target, runs.names), runs)
        if isinstance(before.runs, ProofEnded):
            raise before.runs
        for part in before.runs.lacking:
            raise ProofEnded("untried", f"no input was found that reaches {part.where}", True)
        recipe = self._request.target.recipe
        where = f", as a part of `{recipe.root.source}`" if recipe.is_host else ""
        what = before.function.described if before.function else "the edited code"
        proven = f"{what} behaves the same on {len(before.runs.inputs)} inputs{where}"
        proven = f"{proven}, with {_described(before.sizes)}" if before.sizes else proven
        missing = " and ".join(f"`{name}`" for name in before.missing)
        proven = f"{proven}, where modules that keep shapes replace {missing}" if missing else proven
        proven = f"{proven}, but {unlike[0]}" if unlike else proven
        unseen = sorted({part.lines.start for part in before.runs.missed})
        return f"{proven}; none of them reaches line {unseen[0]}, which is moved unchanged" if unseen else proven

    def _recalled(self) -> tuple[ImportedFile, Findings]:
        """The file before the edit, and what is known about the target from earlier steps and proofs."""
        file = self._context.import_old()
        return file, Findings.recalled(self._remembered, file, self._request.overlays)

    def _compare(self, before: ProgramBefore, file: ImportedFile) -> list[str]:
        """Raises `ProofEnded` if the edited program differs in what counts; returns what `check_program` returns."""
        request, apart = self._request, self._context.apart()
        if not isinstance(before.runs, ProgramRuns):
            self._check_places(before, self._failures_after(before.sizes, file))
            return []
        program = build_program(file, request.edited_target, before.runs.names)
        if request.target.recipe.made_up and program.built.shown != before.shown:
            raise ProofEnded("untried", "for the edited code, fx-lsp invents other arguments")
        if before.function is not None:
            program = function_of(program, file, before.function.path, before.function.name)
            program = without_end(program, before.function.end) if before.function.end else program
        if before.on_way is None:
            found = self._failures_after(before.sizes, file)
        else:
            found = failures_met(
                apart, program.built, file.workspace.owns, before.on_way.by_parameter(program.built.root)
            )
        self._check_places(before, found)
        unlike = self._check(program, before.runs, must_succeed=not found.places)
        if before.function is not None and before.function.effects != apart(
            partial(side_effects, program, before.runs.inputs)
        ):
            raise ProofEnded("untried", f"`{before.function.name}` has other side effects after the edit")
        return unlike

    def _failures_after(self, sizes: Sizes, file: ImportedFile) -> FoundFailures:
        """Where the edited program breaks with guessed inputs. ``sizes`` are those that its constructors receive."""
        known = self._known_after.get(key_of(sizes))
        return known or self._context.failures(file, self._request.edited_target)

    def _check(self, program: Program, runs: ProgramRuns, *, must_succeed: bool = False) -> list[str]:
        """Raises `ProofEnded` if the program or what is captured of it differs; returns what is unlike all the same.

        ``must_succeed``: whether the program can be captured by other means than a trace.
        """
        capture, apart = self._request.capture, self._context.apart()
        unlike = apart(partial(check_program, program, runs))
        if capture == "fx":
            if not apart(partial(check_graph, program, runs)):
                unlike.append("tracing fails elsewhere, so that no graph was compared")
        else:
            apart(partial(check_fake_kernels, program, runs))
            apart(partial(check_captured, capture, program, runs, must_succeed=must_succeed))
        return unlike

    def _comparable(self, before: _Explored, after: FoundFailures) -> Places:
        """The failures of a trace that have to be gone after the edit."""
        return comparable(before.found, after, before.mended, self._edit.edited_lines(), self._edit.gone_lines())

    def _check_places(self, before: ProgramBefore | _Explored, after: FoundFailures) -> None:
        if self._request.capture != "fx":
            check_capture_places(before.found, after, before.mended, self._edit.edited_lines())
            return
        check_places(
            before.found,
            after,
            before.mended,
            self._edit.edited_lines(),
            self._edit.gone_lines(),
            self._edit.replaced(),
        )


def _described(sizes: Sizes) -> str:
    """The numbers as text, e.g. ``depth=2, width=32``."""
    return ", ".join(f"{size.name}={new}" for size, new in sizes.items())
