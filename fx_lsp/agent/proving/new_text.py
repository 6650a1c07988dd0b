"""The steps of a proof that examine the edited program, in a process that has imported the new text."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from fx_lsp.agent.building.constructor_sizes import Sizes, with_sizes
from fx_lsp.agent.inventing.plan_memory import PLANS, Plans
from fx_lsp.agent.processes.tensor_pickles import unpacked
from fx_lsp.agent.proving.before_edit import ProgramBefore
from fx_lsp.agent.proving.capture_failures import check_captured, check_fake_kernels
from fx_lsp.agent.proving.failed_builds import NotBuilt
from fx_lsp.agent.proving.failure_matching import FoundFailures, failures_met
from fx_lsp.agent.proving.functions.function_alone import FunctionAlone
from fx_lsp.agent.proving.proof_context import ProofContext
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.proving.trial_programs import Program, build_program, side_effects
from fx_lsp.agent.proving.trial_runs import ProgramRuns, check_graph, check_program


class NotImported(ProofEnded):
    """The edited file can't be imported."""


class NewText:
    """The file as it is after the edit, imported; its methods are the steps."""

    def __init__(self, context: ProofContext) -> None:
        """Import the file as it is after the edit. Raises `NotImported` if that fails."""
        self._context = context
        self._target = context.request.edited_target
        try:
            self._file = context.import_new()
        except ProofEnded as end:
            raise NotImported(end.verdict, end.reason) from None
        PLANS.switch_on()

    def failures(self, sizes: Sizes, plans: Plans, *, needs_cpu: bool) -> FoundFailures:
        """Where the program breaks with guessed inputs. Raises `ProofEnded` if this can't be found.

        ``sizes`` are those that its constructors receive; ``plans`` are the arguments that were invented for the
        program before the edit, if possible it is built with them; ``needs_cpu`` is as for `explored_failures`.
        """
        PLANS.before_edit = plans
        find = partial(self._context.failures, self._file, self._target, needs_cpu=needs_cpu)
        with with_sizes(sizes):
            if plans:
                with suppress(NotBuilt), PLANS.following_those_before_edit():
                    found = find()
                    if not found.raised:
                        return found
            return find()

    def shown(self) -> str:
        """The expression that builds the program if nothing is known about the program before the edit."""
        PLANS.switch_off()
        return build_program(self._file, self._target).built.shown

    def compared(self, packed: bytes, known: FoundFailures | None, plans: Plans) -> str:
        """Compare what the program does with what it did; return why the edit is proven. Raises `ProofEnded`.

        ``packed`` is a `ProgramBefore`; ``known`` is what `failures` returned for its sizes, or None if its own inputs
        decide where it breaks; ``plans`` are as for `failures`.
        """
        PLANS.before_edit = plans
        before: ProgramBefore = unpacked(packed)
        if before.lacking:  # the edit can't be proven, only refuted, for which the first input is usually enough
            before = before.on_first()
        with with_sizes(before.sizes):
            unlike = self._compare(before, known)
        if (other := before.other) is not None:
            with with_sizes(other.sizes):
                program = self._taken(other.function, self._program(other.runs))
                unlike += self._check(program, other.runs)
                self._check_effects(other.function, program, other.runs)
        if isinstance(before.runs, ProofEnded):
            raise before.runs
        for part in before.lacking:
            reason = f"no input was found that reaches {part.where}"
            raise ProofEnded("untried", reason, lacks_inputs=True, unreached=True)
        return self._why_proven(before, before.runs, unlike)

    def _why_proven(self, before: ProgramBefore, runs: ProgramRuns, unlike: list[str]) -> str:
        recipe = self._context.request.target.recipe
        where = f", as a part of `{recipe.root.source}`" if recipe.is_host else ""
        what = before.function.described if before.function else "the edited code behaves"
        proven = f"{what} the same on {len(runs.inputs)} inputs{where}"
        proven = f"{proven}, with {_described(before.sizes)}" if before.sizes else proven
        missing = " and ".join(f"`{name}`" for name in before.missing)
        proven = f"{proven}, where modules that keep shapes replace {missing}" if missing else proven
        proven = f"{proven}, but {unlike[0]}" if unlike else proven
        unseen = sorted({part.lines.start for part in runs.missed})
        return f"{proven}; none of them reaches line {unseen[0]}, whose code is unchanged" if unseen else proven

    def _compare(self, before: ProgramBefore, known: FoundFailures | None) -> list[str]:
        """Raises `ProofEnded` if the edited program differs in what counts; returns what `check_program` returns."""
        context, file, apart = self._context, self._file, self._context.apart()
        if known is not None and not isinstance(before.runs, ProgramRuns):
            context.check_places(before.found, known, before.mended)
            return []
        assert isinstance(before.runs, ProgramRuns)
        program = self._program(before.runs)
        if program.recipe_of(self._target) != before.recipe:
            raise ProofEnded("untried", "the edited code can't be built in the same way")
        if program.built.recipe.made_up and program.built.shown != before.shown:
            raise ProofEnded("untried", "for the edited code, fx-lsp invents other arguments")
        program = self._taken(before.function, program)
        if known is None:
            assert before.on_way is not None
            on_way = before.on_way.by_parameter(program.built.root)
            known = failures_met(apart, program.built, file.workspace.owns, on_way)
        context.check_places(before.found, known, before.mended)
        if before.lacking:
            apart(partial(check_program, program, before.runs))
            return []
        unlike = self._check(program, before.runs, must_succeed=not known.places)
        self._check_effects(before.function, program, before.runs)
        return unlike

    def _taken(self, alone: FunctionAlone | None, program: Program) -> Program:
        """The function of the edited program that is run alone; the program itself if none is. Raises `ProofEnded`."""
        if alone is None:
            return program
        function, edited = alone.taken_from(program, self._file, is_edited=True)
        if edited != alone:
            raise ProofEnded("untried", f"after the edit, other values decide what `{alone.name}` does")
        return function

    def _check_effects(self, alone: FunctionAlone | None, function: Program, runs: ProgramRuns) -> None:
        """Raises `ProofEnded` if a function that is run alone has other side effects than before the edit."""
        if alone is not None:
            find = partial(side_effects, function, runs.inputs, requires_grad=not alone.has_gradients)
            if alone.effects != self._context.apart()(find):
                raise ProofEnded("untried", f"`{alone.name}` has other side effects after the edit")

    def _program(self, runs: ProgramRuns) -> Program:
        """The edited program, if possible with the arguments that were invented for the program before the edit."""
        with PLANS.following_those_before_edit():
            return build_program(self._file, self._target, runs.names)

    def _check(self, program: Program, runs: ProgramRuns, *, must_succeed: bool = False) -> list[str]:
        """Raises `ProofEnded` if the program or what is captured of it differs; returns what is unlike all the same.

        ``must_succeed``: whether the program can be captured by other means than a trace.
        """
        capture, apart = self._context.request.capture, self._context.apart()
        unlike = apart(partial(check_program, program, runs))
        if capture == "fx":
            if not apart(partial(check_graph, program, runs)):
                unlike.append("tracing fails elsewhere, so that no graph was compared")
        else:
            apart(partial(check_fake_kernels, program, runs))
            apart(partial(check_captured, capture, program, runs, must_succeed=must_succeed))
        return unlike


def _described(sizes: Sizes) -> str:
    """The numbers as text, e.g. ``depth=2, width=32``."""
    return ", ".join(f"{size.name}={new}" for size, new in sizes.items())
