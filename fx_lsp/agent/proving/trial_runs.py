"""Runs a program on inputs, and the edited program and its graph on the same inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

import fxcore
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.messages import Verdict
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.proving.result_comparison import (
    Compare,
    difference,
    difference_in_graph,
    differs_by_rounding,
    unlike_gradients,
    unlike_views,
    without_varying,
)
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.trial_inputs import (
    FoundInputs,
    Gradients,
    InputSearch,
    for_any_values,
    optional_inputs,
    searched_inputs,
)
from fx_lsp.agent.proving.trial_programs import Program
from fx_lsp.agent.running.line_coverage import Part, Seen, parts_not_run, recording_lines
from fx_lsp.agent.running.observation import (
    Input,
    Observation,
    forward_of,
    observe,
)
from fx_lsp.agent.running.plain_values import NotComparable
from fx_lsp.agent.searching.input_search import LEAST
from fx_lsp.agent.searching.solved_inputs import MOST_OPTIONAL_RUNS, MOST_OPTIONAL_RUNS_IF_NEEDED
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fxcore.failures import TraceFailure

MOST_REPEATED = 40
"""How often a program is run again that has done nearly the same as expected, to see whether it always does that."""


class _NotDifferentiable(ProofEnded):
    """The program can't be differentiated on the first input, or raises an error anyway."""


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
        return tuple(part for part in self.missed if not part.is_unchanged)

    def on_first(self) -> ProgramRuns:
        """What the program does on the first of the inputs."""
        return replace(self, inputs=self.inputs[:1], observations=self.observations[:1])


def run_on_inputs(
    apart: ChildRunner, file: ImportedFile, program: Program, search: InputSearch, known: FoundInputs | None
) -> tuple[ProgramRuns, FoundInputs]:
    """Observe what the program does on inputs, which are searched for unless that would find no more than ``known``.

    Raises `ProofEnded` if there are too few inputs, or if what the program returns can't be compared.
    """
    missed: frozenset[Part] = frozenset()
    if known is not None:
        missed = known.missed
        with suppress(ProofEnded):
            runs = runs_on(apart, program, search, known)
            # The edit can't be tried if some input has to reach what another search would not reach either.
            if missed.issuperset(runs.missed) or not missed.isdisjoint(runs.lacking):
                return runs, known
    inputs, gradients, reach_all = apart(partial(searched_inputs, file, program, search))
    with suppress(ProofEnded):
        most_runs = MOST_OPTIONAL_RUNS if reach_all else MOST_OPTIONAL_RUNS_IF_NEEDED
        inputs += apart(partial(optional_inputs, program, search, inputs[0], most_runs))
    if search.any_values:
        inputs = apart(partial(for_any_values, program.built.root, inputs))
    found = FoundInputs(inputs, gradients, missed)
    watched = dict.fromkeys((*search.watched, *missed))  # these inputs may reach what others did not
    runs = runs_on(apart, program, replace(search, watched=[*watched]), found)
    gradients = "none" if runs.observations[0].gradients is None else gradients
    found = replace(found, gradients=gradients, missed=frozenset(runs.missed), observations=runs.observations)
    return replace(runs, missed=tuple(part for part in runs.missed if part in search.watched)), found


def runs_on(apart: ChildRunner, program: Program, search: InputSearch, found: FoundInputs) -> ProgramRuns:
    """Observe what the program does on all inputs, one after another, or confirm what is known about it.

    Raises `ProofEnded` if the program raises an error.
    """
    inputs = found.in_order
    if found.observations:
        missed = apart(partial(_missed, program, found, search.watched))
        if missed is not None:
            return ProgramRuns(inputs, program.names, found.observations, missed)
    try:
        observations, missed = apart(partial(_observed, program, inputs, found.gradients, search.watched))
    except _NotDifferentiable:
        # The failed attempt may have changed buffers, but only in its own process: the next starts from the same state.
        observations, missed = apart(partial(_observed, program, inputs, "none", search.watched))
    if any(seen.left for seen in observations):  # such as how long the call took
        again, _ = apart(partial(_observed, program, inputs, "none", ()))
        observations = tuple(map(without_varying, observations, again))
    return ProgramRuns(inputs, program.names, observations, missed)


def check_program(program: Program, runs: ProgramRuns) -> list[str]:
    """Raises `ProofEnded` unless the program does what ``runs`` has recorded.

    Says what only some callers would notice: what gets a gradient of zeros instead of none, or none instead of zeros,
    if the program is in training mode, and whether the output shares memory with an input.
    """
    unlike: dict[str, None] = {}

    def compare(old: Observation, new: Observation) -> str | None:
        remarks = [*(unlike_gradients(old, new) if program.state.training else ()), *unlike_views(old, new)]
        unlike.update(dict.fromkeys(remarks))
        return difference(old, new)

    check_outputs(program.built.root, "the edited code", program.state, runs, compare)
    return [*unlike]


def check_graph(program: Program, runs: ProgramRuns) -> bool:
    """Whether the program can be traced. Raises `ProofEnded` if its graph does not do what ``runs`` has recorded."""
    tracer = tracer_for(program.built.tracer)
    root, fixed = program.built.root, program.built.concrete_args
    if isinstance(owner := getattr(root, "__self__", None), torch.nn.Module):
        tracer.traced_func_name, root = root.__name__, owner
    try:
        graph = tracer.trace(root, fixed)
    except TraceFailure:
        return False
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
    return True


def _observed(
    program: Program, inputs: Collection[Input], gradients: Gradients, watched: Collection[Part]
) -> tuple[tuple[Observation, ...], tuple[Part, ...]]:
    observations: list[Observation] = []
    run: Seen = set()
    for given in inputs:
        watched = parts_not_run(watched, run)
        ChildRunner.go_on()
        is_inference = given.other_mode and program.state.training  # which is often not differentiable
        with recording_lines(watched, run):
            has_gradients = gradients == "all" or (gradients == "first" and not observations)
            has_gradients = has_gradients and not is_inference
            try:
                seen = observe(program.built.root, given, program.state, program.names, gradients=has_gradients)
            except Exception as error:
                if observations or not has_gradients or is_out_of_memory(error):
                    raise
                raise _NotDifferentiable("untried", describe(error)) from None
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
    """Further runs of a program. Each finds other memory: another heap and, in a thread, another stack."""
    between = []
    for size in range(1, MOST_REPEATED + 1):
        between += [torch.empty(size), torch.empty(16 * size)]
        with ThreadPoolExecutor(1) as thread:
            yield thread.submit(observed, gradients=False).result() if size % 2 else observed(gradients=False)


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


def _missed(program: Program, found: FoundInputs, watched: Collection[Part]) -> tuple[Part, ...] | None:
    """The ``watched`` parts that no input reaches; None if the program no longer does what was observed.

    It may have read, or imported later, a file that has changed. The inputs are tried until they have reached all parts
    that they may reach. Gradients, which take much of the time, are not computed again.
    """
    run: Seen = set()
    may_be_reached = [part for part in watched if part not in found.missed]
    for given, before in zip(found.in_order, found.observations, strict=True):
        ChildRunner.go_on()
        with recording_lines(parts_not_run(watched, run), run):
            now = observe(program.built.root, given, program.state, program.names, gradients=False)
        if difference(before, now) is not None:
            return None
        if not parts_not_run(may_be_reached, run):
            break
    return parts_not_run(watched, run)
