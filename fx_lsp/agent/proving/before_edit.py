"""Examines the program before an edit: where it breaks, and what it does on inputs, which are searched for."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from fx_lsp.agent.building.constructor_sizes import Sizes, with_sizes
from fx_lsp.agent.inventing.plan_memory import PLANS
from fx_lsp.agent.proving.failed_builds import FailedBuilds, NotBuilt
from fx_lsp.agent.proving.failure_matching import FoundFailures, Places, failures_met
from fx_lsp.agent.proving.functions.edited_function import function_in, is_whole
from fx_lsp.agent.proving.functions.function_alone import FunctionAlone
from fx_lsp.agent.proving.functions.other_kinds import inputs_of_other_kinds
from fx_lsp.agent.proving.proof_context import ProofContext
from fx_lsp.agent.proving.proof_memory import Findings, key_of
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.proving.trial_inputs import FoundInputs, InputSearch
from fx_lsp.agent.proving.trial_programs import (
    Program,
    build_program,
    fixed_values,
    side_effects,
)
from fx_lsp.agent.proving.trial_runs import ProgramRuns, run_on_inputs, runs_on
from fx_lsp.agent.proving.twins.small_twin import MOST_AGREEING, Twins, agreeing_sizes, find_twins
from fx_lsp.agent.proving.twins.smaller_numbers import FEWEST
from fx_lsp.agent.running.line_coverage import Part, Seen, parts_not_in, recording_lines
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.side_effects import Effects
from fx_lsp.agent.searching.written_lists import written_lists
from fx_lsp.agent.tracing.trace_target import ImportedFile

SHARE_OF_OTHER_TWINS = 1 / 3
"""What share of the budget there is for the search for a further twin's inputs."""


class _NotRun(ProofEnded):
    """The program was not run: no inputs were found, or it can't be built."""


@dataclass(frozen=True)
class OtherTwin:
    """What another small twin does, whose numbers all differ from those of the first."""

    sizes: Sizes
    """The numbers that make it small."""
    runs: ProgramRuns
    function: FunctionAlone | None
    """The part that is run alone; None if the first twin was run as a whole."""


@dataclass(frozen=True)
class ProgramBefore:
    """What is known about the program before the edit."""

    found: FoundFailures
    on_way: Input | None
    """The input that decided which branches the search for failures took; None if they were guessed."""
    mended: Places
    """The places of the failures that the edit should fix."""
    runs: ProgramRuns | ProofEnded
    """What the program does on some inputs, or why this is not known."""
    shown: str = ""
    """The expression that built the program, if it could be built."""
    recipe: int = -1
    """Which of the target's recipes this was; see `Program.recipe_of`."""
    sizes: Sizes = field(default_factory=dict)
    """The numbers that make the program small."""
    other: OtherTwin | None = None
    """What another twin does, if the program is a small twin."""
    function: FunctionAlone | None = None
    """The part that is run alone; None if the program is run as a whole."""
    missing: tuple[str, ...] = ()
    """The names of missing classes; see `replace_missing_parts`."""

    @property
    def is_ready(self) -> bool:
        """Whether the edit can be tried with what is known."""
        return isinstance(self.runs, ProgramRuns) and not self.lacking

    @property
    def lacking(self) -> tuple[Part, ...]:
        """The parts that no input reaches, though one has to."""
        return self.runs.lacking if isinstance(self.runs, ProgramRuns) else ()

    def on_first(self) -> ProgramBefore:
        """What is known with the first of the inputs."""
        return replace(self, runs=self.runs.on_first(), other=None) if isinstance(self.runs, ProgramRuns) else self


class BeforeEdit:
    """Examines the program in a process that has imported the old text. What it finds is kept in ``known``."""

    def __init__(self, context: ProofContext, file: ImportedFile, known: Findings) -> None:
        self._context = context
        self._request = context.request
        self._file = file
        self._known = known
        self._owns = file.workspace.owns
        self.places = context.edit.places(self._owns)
        """The place of each of the failures that the edit should fix."""
        self.mended = Counter(self.places)
        self.lines = context.edit.lines(self._owns)
        """The same places, each with the file and the line where it begins."""
        self._program: Program | None = None
        """The program itself, while it is in use."""

    def examined(self, *, small: bool) -> ProgramBefore:
        """What the program does; with ``small``, what its small twins do if there are any. Raises `ProofEnded`."""
        if self._request.function_only:
            # Whether a function does the same may depend on which sizes exceed a number in the edit. All sizes of the
            # second twin differ from the first's, so only a number above the least size may exceed both.
            may_hide = self._context.edit.largest_number() > FEWEST
            return (self._function_of_twins() if small and not may_hide else None) or self._function({})
        return (self._of_twins() if small else None) or self._itself()

    def twins(self) -> Twins | None:
        """The target's small twins, which are searched for once; None if it has none."""
        known = self._known
        if not known.looked_for_twins:
            known.looked_for_twins = True
            with suppress(ProofEnded):
                find = partial(find_twins, self._file, self._request.target, known.older_twins)
                search = partial(self._context.apart(), find)
                known.twins, given = known.failed.unless_known(search, on_meta=True)
                if given is not None:
                    known.accept({}, [given])
        return known.twins

    def failures(self, sizes: Sizes) -> FoundFailures:
        """Where the program breaks that is built with ``sizes``, with guessed inputs, which are tried once.

        Raises `ProofEnded` if this can't be found.
        """
        known = self._known.failures
        if (key := f"{self._request.capture} {key_of(sizes)}") not in known:
            with with_sizes(sizes):
                known[key] = self._failures(sizes)
        return known[key]

    def _failures(self, sizes: Sizes) -> FoundFailures:
        """As `failures`, but not kept."""
        find = partial(self._context.failures, self._file, self._request.target)
        if sizes:
            return find()
        program, failed = self._program, self._known.failed
        # What was built on the CPU can be explored, too, if nothing replaces a part of it, which a trace would not see.
        if program and not program.missing and self._request.capture == "fx" and failed.is_known(on_meta=True):
            found = failures_met(self._context.apart(), program.built, self._owns)
            return replace(found, doubtful=False, needs_cpu=True)
        return find(failed)

    def _of_twins(self) -> ProgramBefore | None:
        """What the small twins do; None if there are none, or if the edit can't be tried on them.

        If only twins are asked for, no input of the one that was run may reach all the code that the edit replaces.
        """
        twins, lacking = self.twins() or (), None
        for at, sizes in enumerate(twins[:1] if self._context.edit.fixes_argument else twins):
            try:
                before = self._run_with(sizes, SHARE_OF_OTHER_TWINS if at else 1.0)
                if before.is_ready:
                    return self._with_other_twin(before, twins[at + 1 :])
                lacking = lacking or (before if self._request.twins_only and before.lacking else None)
            except ProofEnded as end:
                if end.is_costly and not at:  # so is the program itself, and no other twin is smaller
                    self._known.inputs.setdefault(self._key({}), end)
                    break
        return lacking

    def _with_other_twin(self, before: ProgramBefore, others: Twins) -> ProgramBefore | None:
        """``before`` with what one of the other twins does; None if none of them can be run."""
        for sizes in others:
            with suppress(ProofEnded), with_sizes(sizes):
                if before.function is not None:
                    same = self._same_part(sizes, before.function)
                    function, runs = same.function, same.runs
                else:
                    function, runs = None, self._runs(sizes, few=True, share=SHARE_OF_OTHER_TWINS)[1]
                if isinstance(runs, ProgramRuns) and not runs.lacking:
                    return replace(before, other=OtherTwin(sizes, runs, function))
        return None

    def _itself(self) -> ProgramBefore:
        """What the program itself does or, if it can't be run, one that fx-lsp's other invented arguments build."""
        before = self._built_with({})
        target = self._request.target
        is_costly = isinstance(before.runs, ProofEnded) and before.runs.is_costly
        may_have_other_sizes = target.recipe.made_up and not self._context.edit.fixes_argument and not is_costly
        if not before.is_ready and may_have_other_sizes:
            with suppress(ProofEnded):
                for sizes in self._context.apart()(partial(agreeing_sizes, self._file, target)):
                    with suppress(ProofEnded):
                        if (agreeing := self._run_with(sizes, 1 / MOST_AGREEING)).is_ready:
                            return agreeing
        return before

    def _function_of_twins(self) -> ProgramBefore | None:
        """As `_function`, but of the small twins; None if there are none, or if the edit can't be tried on them."""
        twins = self.twins()
        if not twins:
            return None
        with suppress(ProofEnded), with_sizes(twins[0]):
            before = self._function(twins[0])
            return None if before.lacking else self._with_other_twin(before, twins[1:])
        return None

    def _same_part(self, sizes: Sizes, function: FunctionAlone) -> ProgramBefore:
        """What the same part of the function does in another small twin. Raises `ProofEnded`."""
        program, not_run = self._built(sizes)
        parts = self._parts(program, not_run)
        alone, search = next(part for part in parts if part[0].is_same_part(function))
        return self._part_alone(sizes, program, alone, replace(search, few=True, share=SHARE_OF_OTHER_TWINS))

    def _function(self, sizes: Sizes) -> ProgramBefore:
        """What the only function does that the edit changes, and where the program breaks. Raises `ProofEnded`.

        The program is built with ``sizes``. If no inputs are found for the function, or none that reach the edit, or if
        it is all of the program, only a part of it is run.
        """
        program, not_run = self._built(sizes)
        ended = ProofEnded("untried", "no part of the function can be run alone", True)
        lacking = None
        for alone, search in self._parts(program, not_run):
            try:
                before = self._part_alone(sizes, program, alone, search)
            except ProofEnded as not_tried:
                if not_tried.verdict != "untried":
                    raise
                ended = not_tried
                continue
            if not before.lacking:
                return before
            lacking = lacking or before
        if lacking is None:
            raise ended
        return lacking

    def _parts(self, program: Program, watched: Collection[Part]) -> Iterator[tuple[FunctionAlone, InputSearch]]:
        """What may be run alone, from the whole function to the fewest statements, and how to find inputs for it."""
        path, name, end = self._context.edit.changed_function()
        function, whole = function_in(program.built.root, self._file.namespace, path, name), program.built.root
        search = InputSearch(dict, program.built.recipe.inputs, watched)
        alone = FunctionAlone(path, name)
        if is_whole(function, whole):
            calls = search
        else:
            calls = replace(search, whole=whole, part=function)
            yield alone, calls
        if end:
            yield replace(alone, end=end), calls
        for statements in self._context.edit.changed_statements(path, name):
            yield replace(alone, statements=statements), search

    def _part_alone(self, sizes: Sizes, program: Program, alone: FunctionAlone, search: InputSearch) -> ProgramBefore:
        """What a part of the function does, and where the program breaks. Raises `ProofEnded`."""
        part, alone = alone.taken_from(program, self._file, is_edited=False)
        lists = written_lists(forward_of(program.built.root)).values()
        if any(found.is_certain for found in lists) and not alone.takes_only_known_values:
            # Invented tensors would prove nothing about lists. Where a list is less certain, both are tried.
            raise ProofEnded("untried", f"the program takes lists, and so may `{alone.name}`", True)
        runs, effects = self._run_alone(sizes, alone, part, search)
        before = self._broken_with(sizes, runs, program)
        return replace(before, function=replace(alone, effects=effects))

    def _run_alone(
        self, sizes: Sizes, alone: FunctionAlone, function: Program, search: InputSearch
    ) -> tuple[ProgramRuns, tuple[Effects, ...]]:
        """What a function of the program with ``sizes`` does, and its side effects. Raises `ProofEnded`."""
        apart, key = self._context.apart(), f"{alone.key} {key_of(sizes)}"
        search = replace(search, has_gradients=alone.has_gradients)
        of_functions, called = self._known.of_functions, f"{alone.path} {alone.name} {key_of(sizes)}"
        if alone.statements is None and called in of_functions:  # for another part, which begins in the same way
            search = replace(search, similar=[of_functions[called]])
        runs = self._run(key, function, search)
        if alone.statements is None:
            of_functions[called] = runs.inputs[0]
        found = self._known.inputs[key]
        assert isinstance(found, FoundInputs)
        if others := apart(partial(inputs_of_other_kinds, function, found)):
            runs = runs_on(apart, function, search, replace(found, inputs=found.inputs + others, observations=()))
        return runs, apart(partial(side_effects, function, runs.inputs, requires_grad=not search.has_gradients))

    def _built_with(self, sizes: Sizes) -> ProgramBefore:
        """What the program does that is built with ``sizes``; if no inputs are found, only where it breaks."""
        try:
            return self._run_with(sizes)
        except _NotRun as end:
            ended = ProofEnded("untried", end.reason, end.lacks_inputs, is_costly=end.is_costly)
            ended.has_no_program = end.has_no_program
            return self._broken_with(sizes, ended)
        finally:
            self._program = None  # it may be large

    def _run_with(self, sizes: Sizes, share: float = 1.0) -> ProgramBefore:
        """What the program does that is built with ``sizes``. Raises `_NotRun` if no inputs are found.

        ``share``: of the budget for the search for inputs.
        """
        with with_sizes(sizes):
            try:
                program, runs = self._runs(sizes, share=share)
                if self._request.capture == "fx":
                    found = self._failures_met(program, runs, sizes)
                    if found.include(self.mended, self.lines):
                        before = ProgramBefore(found, runs.inputs[0], self.mended, runs, sizes=sizes)
                        return self._described(before, program)
            except ProofEnded as end:
                not_run = _NotRun(end.verdict, end.reason, end.lacks_inputs, is_costly=end.is_costly)
                not_run.has_no_program = end.has_no_program
                raise not_run from None
        return self._broken_with(sizes, runs, program)

    def _broken_with(
        self, sizes: Sizes, runs: ProgramRuns | ProofEnded, program: Program | None = None
    ) -> ProgramBefore:
        """What the program does that is built with ``sizes``, with the failures that guessed inputs lead to."""
        found = self.failures(sizes)
        if not found.include(self.mended, self.lines):
            # One on the other side of a branch is found if inputs lead there.
            is_beyond = all(failure.other_side for failure in self._request.failures)
            why = "no input leads the trace to the failure" if is_beyond else "the failure did not occur again"
            raise ProofEnded("untried", why, lacks_inputs=True)  # it may occur where another program runs this one
        before = ProgramBefore(found, None, self.mended, runs, sizes=sizes)
        return self._described(before, program) if program else before

    def _described(self, before: ProgramBefore, program: Program) -> ProgramBefore:
        """``before`` with how the program was built."""
        recipe = program.recipe_of(self._request.target)
        return replace(before, shown=program.built.shown, recipe=recipe, missing=program.missing)

    def _failures_met(self, program: Program, runs: ProgramRuns, sizes: Sizes) -> FoundFailures:
        """Where tracing the program breaks on the way that the first of its inputs decides; this is traced once."""
        met, key = self._known.met, self._key(sizes)
        if key not in met:
            on_way = runs.inputs[0].by_parameter(program.built.root)
            met[key] = failures_met(self._context.apart(), program.built, self._owns, on_way)
        return met[key]

    def _key(self, sizes: Sizes) -> str:
        """The key for the inputs of the program that is built with ``sizes``."""
        return key_of(sizes, self._request.edited_target.recipe.concrete_args)

    def _runs(self, sizes: Sizes, *, few: bool = False, share: float = 1.0) -> tuple[Program, ProgramRuns]:
        """The program that is built with ``sizes``, and what it does. ``few`` and ``share`` are as in `InputSearch`."""
        known, key = self._known, self._key(sizes)
        found = known.inputs.get(key)
        if isinstance(found, ProofEnded):
            raise found
        program, not_run = self._built(sizes)
        self._check_defaults(program, sizes)
        search = self._search(program, not_run)
        search = replace(search, few=few, share=share)
        search = replace(search, similar=known.similar_inputs(sizes), others=known.other_inputs(sizes))
        runs = self._run(key, program, search)
        known.accept(sizes, runs.inputs)
        if known.inputs[key] is not found:
            known.met.pop(key, None)
        return program, runs

    def _check_defaults(self, program: Program, sizes: Sizes) -> None:
        """Raises `ProofEnded` if no inputs were found for a program whose parameters may have their defaults.

        An edit that only gives parameters their defaults makes none run that did not run before.
        """
        ended = self._known.inputs.get(key_of(sizes))
        if isinstance(ended, ProofEnded) and (fixed := fixed_values(self._file, self._request.edited_target)):
            parameters = inspect.signature(forward_of(program.built.root)).parameters
            defaults = {name: one.default for name, one in parameters.items()}
            # What is no parameter is passed on, as in ``super().forward(x, **kwargs)``.
            if all(defaults.get(name) is value for name, value in fixed.items()):
                raise ended

    def _run(self, key: str, program: Program, search: InputSearch) -> ProgramRuns:
        """What a program does on inputs, which are searched for once for each ``key``. Raises `ProofEnded`."""
        known = self._known.inputs
        found = known.get(key)
        if isinstance(found, ProofEnded):
            raise found
        try:
            runs, known[key] = run_on_inputs(self._context.apart(), self._file, program, search, found)
        except ProofEnded as end:
            if end.lacks_inputs:
                known[key] = end
            raise
        return runs

    @cached_property
    def _watched(self) -> list[Part]:
        """The code that inputs should reach."""
        return self._context.edit.watched(self._owns)

    def _built(self, sizes: Sizes) -> tuple[Program, tuple[Part, ...]]:
        """The program that is built with ``sizes``, and the watched parts that building it does not run.

        Those in a ``forward`` always count: constructors hardly ever call it, and recording lines slows Python down.
        """
        elsewhere = parts_not_in("forward", self._watched)
        run: Seen = set()
        failed = FailedBuilds() if sizes else self._known.failed
        build = partial(build_program, self._file, self._request.target)
        recipe = self._request.target.recipe
        if recipe.is_host and recipe.made_up:  # the CPU takes long, and mostly fails, too
            failed.raise_unless_cpu_may_help()
        if not sizes:
            self._invent_arguments(build)
        with recording_lines(elsewhere, run):
            program = failed.unless_known(build, on_meta=False)
        if not sizes:
            self._program = program
        return program, tuple(part for part in self._watched if part not in elsewhere or not part.is_in(run))

    def _invent_arguments(self, build: Callable[[], Program]) -> None:
        """Have a child search for arguments if none are known, so that this process and the edited program's need not.

        A search builds and traces the program several times, which may draw random numbers or count its instances.
        """
        target = self._request.target
        made_up = any(recipe.made_up for recipe in (target.recipe, *target.fallbacks))
        is_known = self._known.looked_for_arguments or PLANS.has_one_for(self._file.namespace.get(target.symbol or ""))
        if made_up and not is_known:
            with suppress(NotBuilt):
                self._context.apart()(partial(_build_only, build))
            self._known.looked_for_arguments = True

    def _search(self, program: Program, watched: Collection[Part]) -> InputSearch:
        fixed = partial(fixed_values, self._file, self._request.edited_target)
        target, any_values = self._request.target, self._request.capture != "fx"
        host = replace(
            target, recipe=replace(target.recipe, is_host=False, concrete_args=None), symbol=None, fallbacks=()
        )
        passed_on = (failure.passed_on for failure in self._request.failures if len(failure.chain) == 1)
        search = InputSearch(fixed, program.built.recipe.inputs, watched, any_values=any_values)
        search = replace(search, passed_on=next(filter(None, passed_on), ""))
        return replace(search, host=host) if target.recipe.is_host else search


def _build_only(build: Callable[[], Program]) -> None:
    build()
