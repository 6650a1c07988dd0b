"""Running a program on inputs, and the edited one, and its graph, on the same."""

from __future__ import annotations

import inspect
import linecache
import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

import fxcore
from fxcore.failures import TraceFailure

from .apart import Apart, Settled
from .build import SEED, Built, build
from .comparison import difference
from .coverage import Lines, lines_run
from .inputs import NoInputs, find_inputs
from .messages import Target
from .observation import Input, Observation, Opaque, names_of, nudge, observe, tensors_of
from .places import describe
from .trace import ImportedFile, is_traceable, tracer_for

LARGEST_OUTPUTS = 1 << 26
"""Bytes of all that a program returns on all inputs."""


@dataclass(frozen=True)
class Runs:
    """What a program does on some inputs."""

    inputs: tuple[Input, ...]
    names: frozenset[str]
    """Of its weights and buffers."""
    gradients: bool
    """Whether it can be differentiated."""
    observations: tuple[Observation, ...]
    missed: tuple[Lines, ...]
    """What was to be run, and no input comes by."""


@dataclass(frozen=True)
class _Program:
    """A program that was built, and what holds its state."""

    built: Built
    state: torch.nn.Module

    @property
    def forward(self) -> Callable[..., Any]:
        """What the signature is of."""
        root: Any = self.built.root
        forward: Callable[..., Any] = root.forward if isinstance(root, torch.nn.Module) else root
        return forward


# Each of these jobs builds the program anew, so that nothing an earlier one did to it counts.


def run_on_inputs(
    apart: Apart,
    file: ImportedFile,
    target: Target,
    fixed: Callable[[], Mapping[str, Any]],
    until: float,
    watched: Collection[Lines],
) -> Runs:
    """What the program does on inputs that are looked for ``until`` then. ``fixed``: arguments that are no inputs.

    ``watched``: what they should come by. Raises `Settled` where there are too few of them, or what it returns can't be
    compared.
    """
    inputs, names, gradients = apart(partial(_find, file, target, fixed, until))
    observations, missed = apart(partial(_observed, file, target, inputs, names, gradients, watched))
    return Runs(inputs, names, gradients, observations, missed)


def check_program(file: ImportedFile, target: Target, runs: Runs) -> None:
    """Raises `Settled` unless the program does what ``runs`` says."""
    program = _program(file, target, runs.names)
    _check(program.built.root, "the edited code", program.state, runs)


def check_graph(file: ImportedFile, target: Target, runs: Runs) -> None:
    """The same of its graph, if the program can be traced."""
    program = _program(file, target, runs.names)
    tracer = tracer_for(program.built.tracer)
    try:
        graph = tracer.trace(program.built.root, program.built.concrete_args)
    except TraceFailure:
        return
    module = fxcore.GraphModule(tracer.root, graph)
    signature = inspect.signature(program.forward)

    def positional(*args: Any, **kwargs: Any) -> Any:
        # The graph knows a parameter that is fixed by another name.
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return module(*bound.args, **bound.kwargs)

    _check(positional, "the graph", program.state, runs)


def fixed_values(file: ImportedFile, target: Target) -> dict[str, Any]:
    """The values that the recipe's ``concrete_args`` give to parameters, as far as they can be had in this text."""
    recipe = target.recipe.concrete_args
    values = eval(recipe.source, file.namespace) if recipe is not None else {}
    if not isinstance(values, Mapping):
        return {}
    return {
        name: value for name, value in values.items() if value is None or isinstance(value, bool | int | float | str)
    }


def _program(file: ImportedFile, target: Target, names: Collection[str] | None = None) -> _Program:
    """The program with weights of its own: those of ``names``, by default all, are nudged."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    built = build(target.recipe, file.workspace.file, file.namespace, on_meta=False)
    if not is_traceable(built.root):
        raise Settled("untried", "it is no module and no function")
    owner = getattr(built.root, "__self__", built.root)
    state = owner if isinstance(owner, torch.nn.Module) else torch.nn.Module()
    nudge(state, names_of(state) if names is None else names)
    return _Program(built, state)


def _find(
    file: ImportedFile, target: Target, fixed: Callable[[], Mapping[str, Any]], until: float
) -> tuple[tuple[Input, ...], frozenset[str], bool]:
    """Inputs, the names of the program's weights and buffers, and whether it can be differentiated on all inputs."""
    program = _program(file, target)
    gradients = True

    def runs(given: Input) -> bool:
        nonlocal gradients
        for differentiate in (True, False)[0 if gradients else 1 :]:
            try:
                observe(program.built.root, given, program.state, (), gradients=differentiate)
            except Opaque:
                raise
            except Exception:
                continue
            gradients = differentiate
            return True
        return False

    try:
        source = "".join(linecache.getlines(file.workspace.file))
        inputs = find_inputs(program.built.root, fixed(), source, file.namespace, runs, until)
    except NoInputs:
        raise Settled("untried", "no inputs were found that it runs on") from None
    except Opaque as error:
        raise Settled("untried", f"it returns a {error}, which can't be compared") from None
    return inputs, names_of(program.state), gradients


def _observed(
    file: ImportedFile,
    target: Target,
    inputs: Collection[Input],
    names: frozenset[str],
    gradients: bool,
    watched: Collection[Lines],
) -> tuple[tuple[Observation, ...], tuple[Lines, ...]]:
    observations = []
    size = 0
    run: set[tuple[str, int]] = set()
    files = {path for path, _ in watched}
    with lines_run(files, run):
        program = _program(file, target, names)
    for given in inputs:
        with lines_run(files, run):
            seen = observe(program.built.root, given, program.state, names, gradients=gradients)
        size += sum(tensor.nbytes for tensor in tensors_of([seen.output, seen.inputs, dict(seen.buffers)]))
        if size > LARGEST_OUTPUTS:
            raise Settled("untried", "what it returns is too large to compare")
        observations.append(seen)
    missed = tuple((path, lines) for path, lines in watched if run.isdisjoint((path, line) for line in lines))
    return tuple(observations), missed


def _check(program: Callable[..., Any], what: str, state: torch.nn.Module, runs: Runs) -> None:
    for given, expected in zip(runs.inputs, runs.observations, strict=True):
        try:
            seen = observe(program, given, state, runs.names, gradients=runs.gradients)
        except Exception as error:
            raise Settled("refuted", f"given {given}, {what} raises {describe(error)}") from None
        if differs := difference(expected, seen):
            raise Settled("refuted", f"given {given}, {differs} differs in {what}")
