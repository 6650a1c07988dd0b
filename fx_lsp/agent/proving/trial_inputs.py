"""Decides which inputs are enough to try an edit, and has them searched for."""

from __future__ import annotations

import itertools
import linecache
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch

from fx_lsp.agent.building.build import build_target, part_of
from fx_lsp.agent.messages import Snippet, Target
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.trial_programs import Program
from fx_lsp.agent.random_seeds import seed_all
from fx_lsp.agent.running.line_coverage import Part, Seen, recording_lines
from fx_lsp.agent.running.observation import (
    Input,
    Observation,
    call,
    modules_of,
    set_up,
)
from fx_lsp.agent.running.plain_values import NotComparable, map_tensors, tensors_of, to_plain
from fx_lsp.agent.searching.decisive_inputs import decisive_inputs
from fx_lsp.agent.searching.example_inputs import example_input
from fx_lsp.agent.searching.input_candidates import candidates
from fx_lsp.agent.searching.input_search import LEAST, NoInputs, find_inputs
from fx_lsp.agent.searching.input_variations import around, elements_of
from fx_lsp.agent.searching.named_parameters import passed_by_position, with_named_parameters
from fx_lsp.agent.searching.recorded_inputs import recorded_inputs
from fx_lsp.agent.searching.search_budget import CALL, MOST_WORK, SearchBudget, TooMuchWork
from fx_lsp.agent.searching.solved_inputs import (
    SHARE_FOR_CANDIDATES,
    MayRun,
    solutions,
    solutions_on_meta,
    with_optional_inputs,
    without_optional_inputs,
)
from fx_lsp.agent.searching.wanted_inputs import Wanted
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.trace_target import ImportedFile

COSTLY = 250_000_000
"""A program that does more operations than this, as `SearchBudget` counts them, is run on few inputs."""

MANY_CALLS = 1000
"""So is one that calls more functions of torch than this: Python and autograd take as long as for these operations."""

LONG = 250_000_000
"""One that takes as long as so many operations is run on fewer inputs than others; here, calls count as well."""

LARGE = 50_000_000
"""An input with which a program does more operations than this is made smaller if possible."""

MANY_ELEMENTS = 1 << 16
"""So is one whose tensors have more elements than this: processes pass on many variations of it, and the results."""

NO_INPUTS = "no inputs were found that the target accepts"

SPECIFY_SOME = "specify some with `# fx: inputs(…)`"

MOST_OF_AN_ERROR = 120
"""How many characters of an error are shown."""

RUNS_OF_A_STEP = 30
"""How many runs in search of inputs are one step, for which the time is limited."""

SHARE_FOR_WHOLE = 2 / 3
"""Which share of the budget may have been used after a search for inputs of what contains the program."""

SHARE_TO_REACH_MORE = 1 / 4
"""Which share of the budget may have been used after a search for inputs that reach what those that were found miss."""

SHARE_TO_VARY = 1 / 4
"""The share of the budget for variations of an input that are tried only because they may reach more."""

MOST_TIMES_AS_COSTLY = 4
"""A run with such a variation may do this many times the operations of the first input's run, and at least `COSTLY`."""

MOST_OPTIONAL = 3
"""How many inputs with the parameters that are None in the first one are looked for."""


Gradients = Literal["none", "first", "all"]
"""On which inputs gradients are compared: on none if the program can't be differentiated on all, and only on the first
if the program is costly and the first reaches all that inputs should reach."""


@dataclass(frozen=True)
class FoundInputs:
    """What a search for inputs has found."""

    inputs: tuple[Input, ...]
    gradients: Gradients
    missed: frozenset[Part]
    """Watched parts that none of them reaches; another search would not reach them either."""
    observations: tuple[Observation, ...] = ()
    """What the program does on each, as they are ``in_order``; none if it has not been observed."""

    @property
    def in_order(self) -> tuple[Input, ...]:
        """The inputs, those in the other mode last.

        No graph is called in the other mode, and such calls may change buffers, as those of a batch norm.
        """
        return tuple(sorted(self.inputs, key=lambda given: given.other_mode))


@dataclass(frozen=True)
class InputSearch:
    """The parameters of a search for inputs."""

    fixed: Callable[[], Mapping[str, Any]]
    """Returns the arguments that are not inputs."""
    inputs: Snippet | None
    """The inputs that the recipe names, if any."""
    watched: Collection[Part]
    """The parts that the inputs should reach."""
    few: bool = False
    """Whether few inputs are enough, since the edit is also tried on a similar program."""
    similar: Iterable[Input] = ()
    """Inputs to try first, since a similar program runs on them or on others like them. They are made when needed."""
    others: Iterable[Input] = ()
    """Inputs to try after the first one, since a similar program has accepted others like them."""
    share: float = 1.0
    """Of a `SearchBudget`."""
    host: Target | None = None
    """The module that the program is a part of, if it was built as a part of one."""
    whole: Callable[..., Any] | None = None
    """The program that calls the ``part``."""
    part: Callable[..., Any] | None = None
    """The function of which all, or only the beginning, is run."""
    any_values: bool = False
    """Whether the program should accept the inputs' sizes whatever the values are; see `for_any_values`."""
    has_gradients: bool = True
    """Whether gradients flow through the program where it is called."""
    passed_on: str = ""
    """The parameters that the program's ``*args`` and ``**kwargs`` can fill in a call, as in a definition."""


Searched = tuple[tuple[Input, ...], Gradients, bool]
"""Inputs, on which of them gradients are compared if there are any, and whether they reach all parts."""


def searched_inputs(file: ImportedFile, program: Program, search: InputSearch) -> Searched:
    """Inputs that the program accepts. Raises `ProofEnded` if none are found."""
    try:
        return _searched(file, program, search)
    except ProofEnded as end:
        root = program.built.root
        named = with_named_parameters(root, search.passed_on) if end.lacks_inputs else None
        if named is None:
            raise
        of_named = replace(program, built=replace(program.built, root=named))
        inputs, gradients, reach_all = _searched(file, of_named, replace(search, inputs=None, host=None))
        return tuple(passed_by_position(given, root, search.passed_on) for given in inputs), gradients, reach_all


def _searched(file: ImportedFile, program: Program, search: InputSearch) -> Searched:
    root = program.built.root
    budget = SearchBudget(search.share)
    needed = frozenset(part for part in search.watched if not part.is_unchanged)
    missed = set(needed)
    accepted: list[Input] = []
    costs: dict[int, int] = {}
    """The operations of the last run of each input, by its ``id``."""
    calls: dict[int, int] = {}
    """How many functions of torch this run called, by the same ``id``."""
    costliest = 0
    """The operations of the run that has done most."""
    reaches: dict[int, frozenset[Part]] = {}
    """What each input is known to reach, by its ``id``."""

    errors: Counter[str] = Counter()
    used_before = 1.0  # the share of the budget, until an input was found
    is_extra = False  # whether the next run is only to reach more

    def runs(given: Input, parts: AbstractSet[Part]) -> frozenset[Part] | None:
        nonlocal used_before, is_extra, costliest
        seen: Seen = set()
        before, calls_before = budget.operations, budget.calls
        most = max(COSTLY, MOST_TIMES_AS_COSTLY * costs[id(accepted[0])]) if is_extra else math.inf
        is_extra = False
        with recording_lines(parts, seen), budget.limited(most):
            said = _said(root, given, errors)
        costs[id(given)] = budget.operations - before
        calls[id(given)] = budget.calls - calls_before
        costliest = max(costliest, costs[id(given)])
        reached = frozenset(part for part in parts if part.is_in(seen))
        # An empty output says at least that it is empty, which is what some branches are about.
        if said != "values" and not (said == "empty" and accepted and reached):
            return None
        ChildRunner.go_on()
        if not accepted:
            used_before = budget.used
        accepted.append(given)
        reaches[id(given)] = reached
        missed.difference_update(reached)
        return reached

    def is_costly(given: Input) -> bool:
        return costs[id(given)] > COSTLY or calls[id(given)] > MANY_CALLS

    def takes_time(given: Input) -> bool:
        return costs[id(given)] + CALL * calls[id(given)] > LONG

    def may_reach() -> bool:
        nonlocal is_extra
        is_extra = may_run(min(used_before + SHARE_TO_VARY, 1.0))
        return is_extra

    source = "".join(linecache.getlines(file.workspace.file))
    may_run = partial(_may_run, budget)
    near: list[Wanted] = []
    try:
        known = example_input(search.inputs, file.namespace)
        fixed = search.fixed()
        similar, others = (
            (Input(given.args, {**given.kwargs, **fixed}) for given in inputs)
            for inputs in (search.similar, search.others)
        )
        guesses = candidates(root, fixed, known, source, file.namespace)
        alike, cheap = (
            itertools.takewhile(lambda _: budget.has_left(SHARE_FOR_CANDIDATES), given) for given in (similar, guesses)
        )
        with budget:
            inputs = find_inputs(
                itertools.chain(
                    alike,
                    _from_whole(file, search, may_run),
                    cheap,
                    _from_host(file, root, search, may_run),
                    solutions_on_meta(root, fixed, may_run, near),
                    solutions(root, fixed, may_run, near),
                ),
                lambda first: itertools.chain(others, around(first, root, fixed)),
                runs,
                needed,
                is_costly,
                may_run,
                partial(may_run, SHARE_TO_REACH_MORE),
                is_large=lambda given: costs[id(given)] > LARGE or elements_of(given) > MANY_ELEMENTS,
                takes_time=takes_time,
                may_reach=may_reach,
                few=search.few,
                fixed=fixed,
                decisive=partial(decisive_inputs, root=root, fixed=fixed),
            )
    except NoInputs:
        exceeds = not budget.has_left(1.0) and costliest > search.share * MOST_WORK / LEAST
        why = "; a run of it takes too long" if exceeds else _commonest(errors)
        raise ProofEnded("untried", f"{NO_INPUTS}{why}; {SPECIFY_SOME}", True, is_costly=exceeds) from None
    except NotComparable as error:
        why = f"the target returns an object of type `{error}`, which can't be compared"
        raise ProofEnded("untried", why) from None
    further = frozenset().union(*(reaches[id(given)] for given in inputs)) - reaches[id(inputs[0])]
    is_enough = is_costly(inputs[0]) and not further and not missed
    gradients: Gradients = "first" if is_enough else "all"
    return inputs, gradients if search.has_gradients else "none", not missed


def _from_host(file: ImportedFile, root: Callable[..., Any], search: InputSearch, may_run: MayRun) -> Iterator[Input]:
    """What the module that contains ``root`` calls it with; nothing if there is none, or if it can't be built."""
    if search.host is None:
        return
    seed_all()
    workspace, fixed = file.workspace, search.fixed()
    try:
        whole = build_target(search.host, workspace.file, file.namespace, workspace.folders, on_meta=False)
        part = part_of(whole, type(root)).root
        known = example_input(whole.recipe.inputs, file.namespace)
    except Exception:
        return
    source = "".join(linecache.getlines(search.host.recipe.file or workspace.file))
    guesses = candidates(whole.root, {}, known, source, file.namespace)
    for given in _recorded(part, whole.root, guesses, may_run):
        yield Input((), {**given.by_parameter(root), **fixed}) if fixed else given


def _from_whole(file: ImportedFile, search: InputSearch, may_run: MayRun) -> Iterator[Input]:
    """What the program calls a function with that is run alone, also in runs that fail later."""
    if search.whole is not None and search.part is not None:
        source = "".join(linecache.getlines(file.workspace.file))
        guesses = candidates(search.whole, {}, example_input(search.inputs, file.namespace), source, file.namespace)
        yield from _recorded(search.part, search.whole, guesses, may_run)


def _recorded(
    part: Callable[..., Any], whole: Callable[..., Any], guesses: Iterable[Input], may_run: MayRun
) -> Iterator[Input]:
    """What ``whole`` calls ``part`` with: on the ``guesses``, and in a search for inputs that ``whole`` accepts."""

    def may_run_whole(share: float = 1.0) -> bool:
        return may_run(SHARE_FOR_WHOLE * share, strictly=True)  # a run that is ended has recorded what it came to

    cheap = itertools.takewhile(lambda _: may_run_whole(), guesses)
    return recorded_inputs(part, whole, itertools.chain(cheap, solutions(whole, {}, may_run_whole)))


def _may_run(budget: SearchBudget, share: float = 1.0, *, strictly: bool = False) -> bool:
    """Whether the program may be run once more in search of inputs; some runs are a step of the search."""
    if budget.runs % RUNS_OF_A_STEP == 0:
        ChildRunner.go_on()
    return budget.may_run(share, strictly=strictly)


def _commonest(errors: Counter[str]) -> str:
    """The error that ended more than half of the runs, in words; empty if there is none."""
    kinds: dict[str, list[str]] = {}
    for error in errors:
        kinds.setdefault(re.sub(r"\d+", "", error), []).append(error)
    runs, example = max(((sum(errors[error] for error in same), same[-1]) for same in kinds.values()), default=(0, ""))
    return f"; most runs end with `{example}`" if 2 * runs > errors.total() else ""


def optional_inputs(program: Program, search: InputSearch, first: Input, most_runs: int) -> tuple[Input, ...]:
    """Inputs like ``first`` that lack an optional parameter, or that also have the parameters that are None in it."""
    root, fixed = program.built.root, search.fixed()

    def accepts(given: Input) -> bool:
        ChildRunner.go_on()
        return _runs(root, given)

    fewer = tuple(filter(accepts, without_optional_inputs(root, first, fixed)))
    with SearchBudget() as budget:
        found = with_optional_inputs(root, first, fixed, partial(_may_run, budget), most_runs)
        return *fewer, *itertools.islice(filter(accepts, found), MOST_OPTIONAL)


def for_any_values(root: Callable[..., Any], inputs: tuple[Input, ...]) -> tuple[Input, ...]:
    """Those of ``inputs`` whose sizes the program also accepts with positive, with negative and with large values.

    Where a branch depends on values, one of its sides may not accept a size that the other does. A captured program
    has both sides, and rejects such a size whatever the values are. All, if this leaves too few, or if the program
    rejects the sizes of the first: then it rejects values.
    """

    def accepts(given: Input) -> bool:
        ChildRunner.go_on()
        changed = (partial(map_tensors, partial(_with_sign, factor)) for factor in (1, -1, 100))
        inputs = (replace(given, args=change(given.args), kwargs=change(dict(given.kwargs))) for change in changed)
        return all(_said(root, one) != "nothing" for one in inputs)

    kept = (inputs[0], *filter(accepts, inputs[1:]))
    return kept if len(kept) >= LEAST and accepts(inputs[0]) else inputs


def _with_sign(factor: int, tensor: torch.Tensor) -> torch.Tensor:
    return factor * tensor.abs() if tensor.is_floating_point() else tensor


def _runs(root: Callable[..., Any], given: Input) -> bool:
    """Whether a call runs to its end and returns values that can be compared. Raises `NotComparable`."""
    return _said(root, given) == "values"


def _said(
    root: Callable[..., Any], given: Input, errors: Counter[str] | None = None
) -> Literal["nothing", "empty", "values"]:
    """What the result of a call says: nothing if it raises, is missing, or is all NaN. Raises `NotComparable`.

    Empty tensors, like those that are all NaN, always compare equal, but for their shapes. What it raises is counted
    in ``errors``.
    """
    try:
        with set_up(next(iter(modules_of(root)), None), given):
            output, _ = call(root, given)
            to_plain(output)
            tensors = tensors_of([output])
            plain = [tensor for tensor in tensors if tensor.layout is torch.strided and not tensor.is_quantized]
            has_values = (
                len(plain) < len(tensors) or not tensors or any(bool(tensor.isfinite().any()) for tensor in plain)
            )
    except NotComparable:
        raise
    except Exception as error:
        if errors is not None and not isinstance(error, TooMuchWork):
            errors[describe(error).partition("\n")[0][:MOST_OF_AN_ERROR]] += 1
        return "nothing"
    if has_values:
        return "values"
    return "nothing" if any(tensor.numel() for tensor in plain) else "empty"
