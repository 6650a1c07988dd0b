"""Inputs that `input_solver` finds: for a program as it is, on the meta device, and with or without optional inputs."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from fx_lsp.agent.running.meta_run import is_large
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.plain_values import tensors_of
from fx_lsp.agent.searching.input_candidates import guessed_inputs, required_arguments
from fx_lsp.agent.searching.input_solver import solve_inputs
from fx_lsp.agent.searching.input_variations import around
from fx_lsp.agent.searching.wanted_inputs import Wanted

MOST_OPTIONAL_RUNS, MOST_OPTIONAL_RUNS_IF_NEEDED = 60, 150
"""How often a program that runs without its optional inputs is run in search of these: usually, and if the inputs that
are known miss a part of the code."""

SHARE_FOR_CANDIDATES, SHARE_WITHOUT_OPTIONAL, SHARE_ON_META = 1 / 3, 1 / 2, 1 / 2
"""Which share of the budget may have been used after the first guesses, after a search without optional inputs, and
after one on the meta device."""

SMALL_SIDES = (16, 64)
"""What `SIDES` is in a search that runs a program hundreds of times."""

MayRun = Callable[..., bool]
"""Whether the program may be run once more, with all of the budget or with a share of it; see `SearchBudget`."""


def solutions(
    root: Callable[..., Any],
    fixed: Mapping[str, Any],
    may_run: MayRun = lambda share=1.0: True,
    near: list[Wanted] | None = None,
    *,
    computes: bool = True,
) -> Iterator[Input]:
    """Inputs that ``root`` accepts, found by running it; see `solve_inputs`. ``fixed`` is as in `candidates`.

    If there are optional inputs, a part of the budget is kept for a search that includes these. ``near`` and
    ``computes`` are as for `solve_inputs`.
    """
    parameters = inspect.signature(forward_of(root)).parameters
    flags, names = required_arguments(root, fixed)
    numbers = [name for name, value in flags.items() if type(value) is int]
    flags = {name: value for name, value in flags.items() if name not in numbers}
    guessed = guessed_inputs(root, {**flags, **fixed}, SMALL_SIDES)
    optional = [name for name, one in parameters.items() if one.default is None and name not in fixed]
    known = {**flags, **fixed}
    fixed_none = [name for name, value in fixed.items() if value is None]
    left_out = [*optional, *fixed_none]
    at_first = partial(may_run, SHARE_WITHOUT_OPTIONAL if optional else 1.0)
    solved = partial(solve_inputs, lacking=[], near=near, computes=computes)
    needs_optional = computes and near and all(any(path[0] in optional for path in one) for one in near)
    if not needs_optional:
        yield from solved(root, [*names, *numbers], known, guessed, numbers, left_out, (), may_run=at_first)
    if optional:  # the program may not run without them
        every = [{**dict.fromkeys(optional, next(iter(guess.values()), None)), **guess} for guess in guessed]
        every_name = [*names, *numbers, *optional]
        yield from solved(root, every_name, known, every, numbers, fixed_none, optional, may_run=may_run)


def solutions_on_meta(
    root: Callable[..., Any], fixed: Mapping[str, Any], may_run: MayRun, near: list[Wanted]
) -> Iterator[Input]:
    """Inputs whose shapes ``root`` accepts, if it is a large model: it is run without computing anything.

    ``near`` receives them, for `solutions`: the program may reject their values.
    """
    if is_large(root):
        yield from solutions(root, fixed, lambda share=1.0: may_run(SHARE_ON_META * share), near, computes=False)


def with_optional_inputs(
    root: Callable[..., Any],
    first: Input,
    fixed: Mapping[str, Any],
    may_run: Callable[[], bool],
    most_runs: int = MOST_OPTIONAL_RUNS,
) -> Iterator[Input]:
    """Inputs that include the parameters that are None in ``first``, found by running ``root``, and variations of them.

    ``first`` is an input that ``root`` accepts. ``may_run`` is asked before each of ``most_runs`` runs of the search.
    """
    given = first.by_parameter(root)
    parameters = inspect.signature(forward_of(root)).parameters.values()
    names = [
        one.name
        for one in parameters
        if one.name not in fixed and given.get(one.name, None if one.default is None else one) is None
    ]
    known = {name: value for name, value in given.items() if name not in names}
    starts = [dict.fromkeys(names, tensor) for tensor in tensors_of(known.values())]
    found = solve_inputs(root, names, known, starts, most_runs=most_runs, may_run=may_run)
    for full in itertools.islice((one for one in found if _has_any(one.by_parameter(root), names)), 1):
        yield from itertools.chain([full], around(full, root, fixed))


def _has_any(arguments: Mapping[str, Any], names: Iterable[str]) -> bool:
    return any(arguments.get(name) is not None for name in names)


def without_optional_inputs(root: Callable[..., Any], first: Input, fixed: Mapping[str, Any]) -> Iterator[Input]:
    """Inputs like ``first``, each with None for one of the parameters that are None by default."""
    signature = inspect.signature(forward_of(root))
    for name, parameter in signature.parameters.items():
        bound = signature.bind(*first.args, **first.kwargs)
        if parameter.default is None and name not in fixed and bound.arguments.get(name) is not None:
            bound.arguments[name] = None
            yield Input(bound.args, bound.kwargs)
