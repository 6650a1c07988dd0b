"""Runs a program on inputs, and the edited program and its graph on the same inputs."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

import fxcore
from fx_lsp.agent.building.build import Built, build_target
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.building.random_seeds import seed_all
from fx_lsp.agent.messages import Snippet, Target
from fx_lsp.agent.proving.line_coverage import Part, Seen, parts_not_run, recording_lines
from fx_lsp.agent.proving.result_comparison import difference, difference_in_graph
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.running.example_inputs import example_input
from fx_lsp.agent.running.input_search import NoInputs, around, candidates, find_inputs
from fx_lsp.agent.running.observation import (
    Input,
    Observation,
    call,
    forward_of,
    observe,
    perturb_weights,
    weight_names,
)
from fx_lsp.agent.running.plain_values import NotComparable, tensors_of, to_plain
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.trace_target import ImportedFile, is_traceable
from fxcore.failures import TraceFailure

LARGEST_OUTPUTS = 1 << 26
"""The maximum number of bytes that a program may return on all inputs together."""


@dataclass(frozen=True)
class Program:
    """A program that was built, and the module that holds its state."""

    built: Built
    state: torch.nn.Module
    names: frozenset[str]
    """The names of those of its weights and buffers that are observed."""


@dataclass(frozen=True)
class ProgramRuns:
    """What a program does on some inputs."""

    inputs: tuple[Input, ...]
    names: frozenset[str]
    """The names of those of its weights and buffers that were observed."""
    observations: tuple[Observation, ...]
    missed: tuple[Part, ...]
    """The watched parts that no input reaches."""


@dataclass(frozen=True)
class InputSearch:
    """The parameters of a search for inputs."""

    fixed: Callable[[], Mapping[str, Any]]
    """Returns the arguments that are not inputs."""
    inputs: Snippet | None
    """The inputs that the recipe names, if any."""
    until: float
    """When the search ends, by ``time.monotonic``."""
    seconds: float
    """Processor time that the program may take on all inputs together, once there are enough of them."""
    watched: Collection[Part]
    """The parts that the inputs should reach."""


def build_program(file: ImportedFile, target: Target, names: frozenset[str] | None = None) -> Program:
    """Build the program, and add noise to its weights: those of ``names``, by default all. Raises `ProofEnded`."""
    seed_all()
    try:
        built = build_target(target, file.workspace.file, file.namespace, file.workspace.folders, on_meta=False)
    except Exception as error:
        raise ProofEnded("untried", f"building the target raises {describe(error)}") from None
    if not is_traceable(built.root):
        raise ProofEnded("untried", "the target is neither a module nor a function")
    owner = getattr(built.root, "__self__", built.root)
    state = owner if isinstance(owner, torch.nn.Module) else torch.nn.Module()
    names = weight_names(state) if names is None else names
    perturb_weights(state, names)
    return Program(built, state, names)


# Each of the jobs below is run in a child that starts with a copy of the program, so that what one job does to the
# program does not affect another job.


def run_on_inputs(apart: ChildRunner, file: ImportedFile, program: Program, search: InputSearch) -> ProgramRuns:
    """Find inputs, and observe what the program does on them.

    Raises `ProofEnded` if there are too few inputs, or if what the program returns can't be compared.
    """
    inputs, gradients = apart(partial(_find, file, program, search))
    observations, missed = apart(partial(_observed, program, inputs, gradients, search.watched))
    return ProgramRuns(inputs, program.names, observations, missed)


def check_program(program: Program, runs: ProgramRuns) -> None:
    """Raises `ProofEnded` unless the program does what ``runs`` has recorded."""
    _check(program.built.root, "the edited code", program.state, runs, difference)


def check_graph(program: Program, runs: ProgramRuns) -> None:
    """Raises `ProofEnded` if the program can be traced and its graph does not do what ``runs`` has recorded."""
    tracer = tracer_for(program.built.tracer)
    try:
        graph = tracer.trace(program.built.root, program.built.concrete_args)
    except TraceFailure:
        return
    module = fxcore.GraphModule(tracer.root, graph)
    signature = inspect.signature(forward_of(program.built.root))

    def positional(*args: Any, **kwargs: Any) -> Any:
        # In the graph, a parameter with a fixed value has a different name.
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return module(*bound.args, **bound.kwargs)

    _check(positional, "the graph", program.state, runs, difference_in_graph)


def fixed_values(file: ImportedFile, target: Target) -> dict[str, Any]:
    """The plain values that the recipe's ``concrete_args`` gives to parameters."""
    recipe = target.recipe.concrete_args
    values = eval(recipe.source, file.namespace) if recipe is not None else {}
    if not isinstance(values, Mapping):
        return {}
    return {
        name: value for name, value in values.items() if value is None or isinstance(value, bool | int | float | str)
    }


def _find(file: ImportedFile, program: Program, search: InputSearch) -> tuple[tuple[Input, ...], bool]:
    """Inputs, and whether the program can be differentiated on the first of them."""
    root = program.built.root
    run: Seen = set()

    def runs(given: Input) -> bool:
        try:
            with recording_lines(parts_not_run(search.watched, run), run):
                output, _ = call(root, given)
        except Exception:
            return False
        to_plain(output)
        return True

    source = "".join(linecache.getlines(file.workspace.file))
    try:
        known = example_input(search.inputs, file.namespace)
        found = candidates(root, search.fixed(), known, source, file.namespace)
        inputs = find_inputs(
            found,
            partial(around, root=root),
            runs,
            lambda: len(parts_not_run(search.watched, run)),
            search.until,
            search.seconds,
        )
    except NoInputs:
        raise ProofEnded("untried", "no inputs were found that the target accepts") from None
    except NotComparable as error:
        why = f"the target returns an object of type `{error}`, which can't be compared"
        raise ProofEnded("untried", why) from None
    return inputs, _is_differentiable(program, inputs[0])


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
    size = 0
    run: Seen = set()
    for given in inputs:
        watched = parts_not_run(watched, run)
        with recording_lines(watched, run):
            seen = observe(program.built.root, given, program.state, program.names, gradients=gradients)
        size += sum(tensor.nbytes for tensor in tensors_of([seen.output, seen.inputs, dict(seen.buffers)]))
        if size > LARGEST_OUTPUTS:
            raise ProofEnded("untried", "the output of the target is too large to compare")
        observations.append(seen)
    return tuple(observations), parts_not_run(watched, run)


def _check(
    program: Callable[..., Any],
    what: str,
    state: torch.nn.Module,
    runs: ProgramRuns,
    compare: Callable[[Observation, Observation], str | None],
) -> None:
    for given, expected in zip(runs.inputs, runs.observations, strict=True):
        try:
            seen = observe(program, given, state, runs.names, gradients=expected.gradients is not None)
        except Exception as error:
            raise ProofEnded("refuted", f"given {given}, {what} raises {describe(error)}") from None
        if differs := compare(expected, seen):
            raise ProofEnded("refuted", f"given {given}, {differs} differs in {what}")
