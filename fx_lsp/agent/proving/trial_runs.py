"""Runs a program on inputs, and the edited program and its graph on the same inputs."""

from __future__ import annotations

import inspect
import itertools
import linecache
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch

import fxcore
from fx_lsp.agent.building.build import Built, build_target, part_of
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.building.random_seeds import seed_all
from fx_lsp.agent.messages import Snippet, Target, Verdict
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.proving.decisive_inputs import decisive_inputs
from fx_lsp.agent.proving.edited_function import function_in
from fx_lsp.agent.proving.failed_builds import NotBuilt
from fx_lsp.agent.proving.function_beginning import beginning_of
from fx_lsp.agent.proving.line_coverage import Part, Seen, parts_not_run, recording_lines
from fx_lsp.agent.proving.result_comparison import (
    Compare,
    difference,
    difference_in_graph,
    differs_by_rounding,
    unlike_gradients,
)
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.side_effects import Effects, KeepsState, effects_of
from fx_lsp.agent.running.example_inputs import example_input
from fx_lsp.agent.running.input_search import (
    LEAST,
    MOST_OPTIONAL_RUNS,
    MOST_OPTIONAL_RUNS_IF_NEEDED,
    SHARE_FOR_CANDIDATES,
    MayRun,
    NoInputs,
    around,
    candidates,
    find_inputs,
    solutions,
    solutions_on_meta,
    with_optional_inputs,
    without_optional_inputs,
)
from fx_lsp.agent.running.observation import (
    Input,
    Observation,
    call,
    filled_memory,
    forward_of,
    modules_of,
    observe,
    perturb_weights,
    set_up,
    weight_names,
    zero_unset_weights,
)
from fx_lsp.agent.running.plain_values import NotComparable, map_tensors, tensors_of, to_plain
from fx_lsp.agent.running.recorded_inputs import recorded_inputs
from fx_lsp.agent.running.search_budget import SearchBudget
from fx_lsp.agent.running.wanted_inputs import Wanted
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.trace_target import ImportedFile, is_traceable
from fxcore.failures import TraceFailure

COSTLY = 250_000_000
"""A program that does more operations than this, as `SearchBudget` counts them, is run on few inputs."""

NO_INPUTS = "no inputs were found that the target accepts; specify some with `# fx: inputs(…)`"

RUNS_OF_A_STEP = 30
"""How many runs in search of inputs are one step, for which the time is limited."""

SHARE_FOR_WHOLE = 2 / 3
"""Which share of the budget may have been used after a search for inputs of what contains the program."""

MOST_REPEATED = 40
"""How often a program is run again that has done nearly the same as expected, to see whether it always does that."""

MOST_OPTIONAL = 3
"""How many inputs with the parameters that are None in the first one are looked for."""


@dataclass(frozen=True)
class Program:
    """A program that was built, and the module that holds its state."""

    built: Built
    state: torch.nn.Module
    names: frozenset[str]
    """The names of the weights and buffers that are observed."""


@dataclass(frozen=True)
class ProgramRuns:
    """What a program does on some inputs."""

    inputs: tuple[Input, ...]
    names: frozenset[str]
    """The names of the weights and buffers that were observed."""
    observations: tuple[Observation, ...]
    missed: tuple[Part, ...]
    """The watched parts that no input reaches."""

    @property
    def lacking(self) -> tuple[Part, ...]:
        """Those of the ``missed`` parts that some input has to reach."""
        return tuple(part for part in self.missed if not part.is_moved)


@dataclass(frozen=True)
class FoundInputs:
    """What a search for inputs has found."""

    inputs: tuple[Input, ...]
    gradients: bool
    """Whether the program can be differentiated on the first of them."""
    missed: frozenset[Part]
    """Watched parts that none of them reaches; another search would not reach them either."""


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
    share: float = 1.0
    """Of a `SearchBudget`."""
    host: Target | None = None
    """The module that the program is a part of, if it was built as a part of one."""
    whole: Callable[..., Any] | None = None
    """The program that calls the ``part``."""
    part: Callable[..., Any] | None = None
    """The function of which all, or only the beginning, is run."""
    any_values: bool = False
    """Whether the program should accept the inputs' sizes whatever the values are; see `_for_any_values`."""


def function_of(program: Program, file: ImportedFile, path: str, name: str) -> Program:
    """Only the function ``name`` of the file ``path``, which ``program`` calls or is. Raises `ProofEnded`."""
    found = function_in(program.built.root, file.namespace, path, name)
    if found is None:
        raise ProofEnded("untried", f"`{name}` can't be run alone", True)
    return replace(program, built=replace(program.built, root=found, concrete_args=None))


def without_end(function: Program, end: int) -> Program:
    """Only the beginning of a function, without its last ``end`` statements. Raises `ProofEnded`."""
    found = beginning_of(function.built.root, end)
    if found is None:
        raise ProofEnded("untried", f"no part of `{function.built.root.__qualname__}` can be run alone", True)
    return replace(function, built=replace(function.built, root=found))


def side_effects(program: Program, inputs: Collection[Input]) -> tuple[Effects, ...]:
    """What a function that is run alone does to the rest of the program. Raises `ProofEnded` if that is not known."""
    found = []
    for given in inputs:
        ChildRunner.go_on()
        try:
            found.append(effects_of(program.built.root, given))
        except KeepsState:
            name = program.built.root.__qualname__
            raise ProofEnded("untried", f"`{name}` changes what its module or its file keeps", True) from None
    return tuple(found)


def build_program(file: ImportedFile, target: Target, names: frozenset[str] | None = None) -> Program:
    """Build the program, and add noise to the weights in ``names``, by default to all.

    Raises `NotBuilt`, or another `ProofEnded` if what is built can't be run.
    """
    seed_all()
    try:
        with filled_memory():
            built = build_target(target, file.workspace.file, file.namespace, file.workspace.folders, on_meta=False)
    except Exception as error:
        raise NotBuilt.because_of(error) from None
    if not is_traceable(built.root):
        raise ProofEnded("untried", "the target is neither a module nor a function")
    owner = getattr(built.root, "__self__", built.root)
    state = owner if isinstance(owner, torch.nn.Module) else torch.nn.Module()
    names = weight_names(state) if names is None else names
    zero_unset_weights(state)
    perturb_weights(state, names)
    return Program(built, state, names)


# Each of the jobs below is run in a child that starts with a copy of the program, so that what one job does to the
# program does not affect another job.


def run_on_inputs(
    apart: ChildRunner, file: ImportedFile, program: Program, search: InputSearch, known: FoundInputs | None
) -> tuple[ProgramRuns, FoundInputs]:
    """Observe what the program does on inputs; these are searched for unless ``known`` has those that are needed.

    Raises `ProofEnded` if there are too few inputs, or if what the program returns can't be compared.
    """
    missed: frozenset[Part] = frozenset()
    if known is not None:
        missed = known.missed
        with suppress(ProofEnded):
            runs = _runs_on(apart, program, search, known)
            if missed.issuperset(runs.missed):
                return runs, known
    inputs, gradients, reach_all = apart(partial(_find, file, program, search))
    with suppress(ProofEnded):
        most_runs = MOST_OPTIONAL_RUNS if reach_all else MOST_OPTIONAL_RUNS_IF_NEEDED
        inputs += apart(partial(_find_optional, program, search, inputs[0], most_runs))
    if search.any_values:
        inputs = apart(partial(_for_any_values, program.built.root, inputs))
    found = FoundInputs(inputs, gradients, missed)
    runs = _runs_on(apart, program, search, found)
    return runs, replace(found, missed=missed.union(runs.missed))


def _runs_on(apart: ChildRunner, program: Program, search: InputSearch, found: FoundInputs) -> ProgramRuns:
    observations, missed = apart(partial(_observed, program, found.inputs, found.gradients, search.watched))
    return ProgramRuns(found.inputs, program.names, observations, missed)


def check_program(program: Program, runs: ProgramRuns) -> list[str]:
    """Raises `ProofEnded` unless the program does what ``runs`` has recorded.

    Says what gets a gradient of zeros instead of none, or none instead of zeros, if the program is in training mode.
    """
    unlike: dict[str, None] = {}

    def compare(old: Observation, new: Observation) -> str | None:
        unlike.update(dict.fromkeys(unlike_gradients(old, new)))
        return difference(old, new)

    check_outputs(program.built.root, "the edited code", program.state, runs, compare)
    return [*unlike] if program.state.training else []


def check_graph(program: Program, runs: ProgramRuns) -> None:
    """Raises `ProofEnded` if the program can be traced and its graph does not do what ``runs`` has recorded."""
    tracer = tracer_for(program.built.tracer)
    root, fixed = program.built.root, program.built.concrete_args
    if isinstance(owner := getattr(root, "__self__", None), torch.nn.Module):
        tracer.traced_func_name, root = root.__name__, owner
    try:
        graph = tracer.trace(root, fixed)
    except TraceFailure:
        return
    module = fxcore.GraphModule(tracer.root, graph)
    signature = inspect.signature(forward_of(program.built.root))
    inputs = graph.find_nodes(op="placeholder")
    required = {str(node.target) for node in inputs if node.args in ((), (None,)) and node.users}

    def is_enough(given: Input) -> bool:
        arguments = given.by_parameter(program.built.root)
        return not given.other_mode and all(
            arguments.get(name) is not None for name in required & signature.parameters.keys()
        )

    def positional(*args: Any, **kwargs: Any) -> Any:
        # In the graph, a parameter with a fixed value has a different name.
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return module(*bound.args, **bound.kwargs)

    kept = [number for number, given in enumerate(runs.inputs) if is_enough(given)]
    if len(kept) < LEAST:
        names = ", ".join(f"`{name}`" for name in sorted(required))
        raise ProofEnded("untried", f"the graph requires {names}, and too few inputs were found that include it", True)
    fitting = replace(
        runs,
        inputs=tuple(runs.inputs[number] for number in kept),
        observations=tuple(runs.observations[number] for number in kept),
    )
    check_outputs(positional, "the graph", program.state, fitting, difference_in_graph)


def fixed_values(file: ImportedFile, target: Target) -> dict[str, Any]:
    """The plain values that the recipe's ``concrete_args`` gives to parameters."""
    recipe = target.recipe.concrete_args
    values = eval(recipe.source, file.namespace) if recipe is not None else {}
    if not isinstance(values, Mapping):
        return {}
    return {
        name: value for name, value in values.items() if value is None or isinstance(value, bool | int | float | str)
    }


def _find(file: ImportedFile, program: Program, search: InputSearch) -> tuple[tuple[Input, ...], bool, bool]:
    """Inputs, whether the program can be differentiated on the first of them, and whether they reach all parts."""
    root = program.built.root
    budget = SearchBudget(search.share)
    needed = frozenset(part for part in search.watched if not part.is_moved)
    missed = set(needed)
    accepted: list[Input] = []
    costs: dict[int, int] = {}
    """The operations of the last run of each input, by its ``id``."""

    def runs(given: Input, parts: AbstractSet[Part]) -> frozenset[Part] | None:
        seen: Seen = set()
        before = budget.operations
        with recording_lines(parts, seen):
            said = _said(root, given)
        costs[id(given)] = budget.operations - before
        reached = frozenset(part for part in parts if part.is_in(seen))
        # An empty output says at least that it is empty, which is what some branches are about.
        if said != "values" and not (said == "empty" and accepted and reached):
            return None
        ChildRunner.go_on()
        accepted.append(given)
        missed.difference_update(reached)
        return reached

    source = "".join(linecache.getlines(file.workspace.file))
    may_run = partial(_may_run, budget)
    near: list[Wanted] = []
    try:
        known = example_input(search.inputs, file.namespace)
        fixed = search.fixed()
        similar = (Input(given.args, {**given.kwargs, **fixed}) for given in search.similar)
        guesses = itertools.chain(similar, candidates(root, fixed, known, source, file.namespace))
        cheap = itertools.takewhile(lambda _: budget.has_left(SHARE_FOR_CANDIDATES), guesses)
        with budget:
            inputs = find_inputs(
                itertools.chain(
                    _from_whole(file, search, may_run),
                    cheap,
                    _from_host(file, root, search, may_run),
                    solutions_on_meta(root, fixed, may_run, near),
                    solutions(root, fixed, may_run, near),
                ),
                partial(around, root=root, fixed=fixed),
                runs,
                needed,
                lambda given: costs[id(given)] > COSTLY,
                may_run,
                few=search.few,
                fixed=fixed,
                decisive=partial(decisive_inputs, root=root),
            )
    except NoInputs:
        raise ProofEnded("untried", NO_INPUTS, True) from None
    except NotComparable as error:
        why = f"the target returns an object of type `{error}`, which can't be compared"
        raise ProofEnded("untried", why) from None
    return inputs, _is_differentiable(program, inputs[0]), not missed


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
        return may_run(SHARE_FOR_WHOLE * share)

    cheap = itertools.takewhile(lambda _: may_run_whole(), guesses)
    return recorded_inputs(part, whole, itertools.chain(cheap, solutions(whole, {}, may_run_whole)))


def _may_run(budget: SearchBudget, share: float = 1.0) -> bool:
    """Whether the program may be run once more in search of inputs; some runs are a step of the search."""
    if budget.runs % RUNS_OF_A_STEP == 0:
        ChildRunner.go_on()
    return budget.may_run(share)


def _find_optional(program: Program, search: InputSearch, first: Input, most_runs: int) -> tuple[Input, ...]:
    """Inputs like ``first`` that lack an optional parameter, or that also have the parameters that are None in it."""
    root, fixed = program.built.root, search.fixed()

    def accepts(given: Input) -> bool:
        ChildRunner.go_on()
        return _runs(root, given)

    fewer = tuple(filter(accepts, without_optional_inputs(root, first, fixed)))
    with SearchBudget() as budget:
        found = with_optional_inputs(root, first, fixed, partial(_may_run, budget), most_runs)
        return *fewer, *itertools.islice(filter(accepts, found), MOST_OPTIONAL)


def _for_any_values(root: Callable[..., Any], inputs: tuple[Input, ...]) -> tuple[Input, ...]:
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


def _said(root: Callable[..., Any], given: Input) -> Literal["nothing", "empty", "values"]:
    """What the result of a call says: nothing if it raises, is missing, or is all NaN. Raises `NotComparable`.

    Empty tensors, like those that are all NaN, always compare equal, but for their shapes.
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
    except Exception:
        return "nothing"
    if has_values:
        return "values"
    return "nothing" if any(tensor.numel() for tensor in plain) else "empty"


def _is_differentiable(program: Program, given: Input) -> bool:
    try:
        observe(program.built.root, given, program.state, program.names, gradients=True)
    except Exception:
        return False
    return True


def _observed(
    program: Program, inputs: Collection[Input], gradients: bool, watched: Collection[Part]
) -> tuple[tuple[Observation, ...], tuple[Part, ...]]:
    observations = []
    run: Seen = set()
    for given in inputs:
        watched = parts_not_run(watched, run)
        ChildRunner.go_on()
        with recording_lines(watched, run):
            seen = observe(program.built.root, given, program.state, program.names, gradients=gradients)
        observations.append(seen)
    return tuple(observations), parts_not_run(watched, run)


def check_outputs(
    program: Callable[..., Any],
    what: str,
    state: torch.nn.Module,
    runs: ProgramRuns,
    compare: Compare,
) -> None:
    """Raises `ProofEnded` if ``program``, which reasons call ``what``, does not do what ``runs`` has recorded.

    ``state`` holds its weights; ``compare`` says what differs, if anything does.
    """
    for given, expected in zip(runs.inputs, runs.observations, strict=True):
        observed = partial(_observed_once, program, what, state, runs.names, given)
        seen = observed(gradients=expected.gradients is not None)
        differs = compare(expected, seen)
        if differs and not differs_by_rounding(expected, seen, _repeated(observed), compare):
            raise ProofEnded("refuted", f"given {given}, {differs} differs in {what}")


def _repeated(observed: Callable[..., Observation]) -> Iterator[Observation]:
    """Further runs of a program; each finds its memory arranged in another way."""
    between = []
    for size in range(1, MOST_REPEATED + 1):
        between += [torch.empty(size), torch.empty(16 * size)]
        yield observed(gradients=False)


def _observed_once(
    program: Callable[..., Any],
    what: str,
    state: torch.nn.Module,
    names: frozenset[str],
    given: Input,
    *,
    gradients: bool,
) -> Observation:
    """What one call does. Raises `ProofEnded` if it raises an error, unless memory is short."""
    ChildRunner.go_on()
    try:
        return observe(program, given, state, names, gradients=gradients)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        verdict: Verdict = "untried" if isinstance(error, NotComparable) else "refuted"
        shown = describe(error).partition("\n")[0]
        raise ProofEnded(verdict, f"given {given}, {what} raises {shown}") from None
