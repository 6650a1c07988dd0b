"""Inputs that a program runs on, found by running it.

The first candidate that works is varied (see `input_variations`) until the inputs are enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.searching.input_variations import (
    changed_input,
    elements_of,
    not_finite,
    numbers_of,
    of_other_rank,
    resized_alone,
    tensors_in,
    unusual,
)

LEAST, MOST = 3, 14
"""The minimum and the maximum number of inputs that a proof uses."""

FEWER = 11
"""The maximum for a program that takes some time to run: these include another dtype, mode and order in memory."""

Runs = Callable[[Input, AbstractSet[Any]], AbstractSet[Any] | None]
"""Which of the parts of the code a run reaches; None if the program does not run to its end on the input."""


class NoInputs(Exception):
    """Too few inputs were found."""


def find_inputs(
    candidates: Iterator[Input],
    around: Callable[[Input], Iterator[Input]],
    runs: Runs,
    wanted: AbstractSet[Any],
    is_costly: Callable[[Input], bool],
    may_run: Callable[[], bool] = lambda: True,
    may_run_more: Callable[[], bool] = lambda: False,
    *,
    may_reach: Callable[[], bool] = lambda: True,
    is_large: Callable[[Input], bool] | None = None,
    takes_time: Callable[[Input], bool] = lambda given: False,
    few: bool = False,
    fixed: Collection[str] = (),
    decisive: Callable[[Input], Iterator[Input]] = lambda given: iter(()),
) -> tuple[Input, ...]:
    """At least `LEAST` inputs that the program accepts: one of ``candidates``, and variations ``around`` it.

    ``wanted`` are the parts of the code that they should reach. A candidate that ``is_large`` (by default, one that
    ``is_costly``; both are asked only about inputs that were run) is made smaller if possible, and kept besides unless
    it is costly. There are more than `MOST` inputs (than `FEWER` if the first ``takes_time``, or than `LEAST` if an
    input is costly, or with ``few``) only if they reach more or tell two equal sizes apart. Only if they reach more are
    there any of another rank, with NaN, infinity, or an unusual dtype or memory format, and ``decisive`` ones. Those
    with one tensor that is longer than others of its size come in any case.
    ``may_run`` is asked before each candidate and, once there are enough inputs, before each variation; ``may_reach``
    before each input that is tried only because it may reach more. If no input so far reaches some part, others of the
    ``candidates`` are tried, too, each time that ``may_run_more`` allows it. ``runs`` may end what costs too much.
    Raises `NoInputs` if there are too few inputs, or if they don't tell two equal sizes or numbers apart; the arguments
    ``fixed`` need not differ.
    """
    for candidate in candidates:
        if not may_run():
            break
        reached = runs(candidate, wanted)
        if reached is None:
            continue
        is_reducible = is_large or is_costly
        first = _reduced(candidate, runs, reached, is_reducible) if is_reducible(candidate) else candidate
        found = [first] if first is candidate or is_costly(candidate) else [first, candidate]
        covered, largest = set(reached), elements_of(first)
        most = LEAST if few or is_costly(first) else FEWER if takes_time(first) else MOST
        reaching = partial(_reaching, covered, wanted, runs, may_reach)
        ranks = reaching(of_other_rank(first))
        for given in around(first):
            is_varied = _is_varied(found, fixed)
            is_enough = len(found) >= most and covered >= wanted and is_varied
            if is_enough or (len(found) >= LEAST and not may_run()):
                break
            reached = runs(given, wanted - covered)
            adds = len(found) < most or reached or (not is_varied and _is_varied([*found, given], fixed))
            if reached is not None and adds:
                if elements_of(given) > largest:
                    largest, most = elements_of(given), LEAST if is_costly(given) else most
                found.append(given)
                covered |= reached
        found += [given for given in resized_alone(first) if runs(given, frozenset()) is not None]
        found += reaching(itertools.chain(not_finite(first), unusual(first)))
        for given in reaching(decisive(first)):
            others = itertools.islice(around(given), LEAST) if given.weights else ()
            found += [given, *(other for other in others if runs(other, frozenset()) is not None)]
        if len(found) >= LEAST and _is_varied(found, fixed):
            missed = frozenset() if few else wanted - covered
            return (*found, *ranks, *_reaching_more(candidates, around, runs, missed, may_run_more))
    raise NoInputs


def _reaching_more(
    candidates: Iterator[Input],
    around: Callable[[Input], Iterator[Input]],
    runs: Runs,
    missed: AbstractSet[Any],
    may_run: Callable[[], bool],
) -> Iterator[Input]:
    """Those of the remaining candidates that reach more of what is ``missed``, each with some variations of it."""
    while missed and may_run() and (given := next(candidates, None)) is not None:
        if reached := runs(given, missed):
            missed = missed - reached
            yield given
            yield from itertools.islice((one for one in around(given) if runs(one, frozenset()) is not None), LEAST - 1)


def _reaching(
    covered: set[Any], wanted: AbstractSet[Any], runs: Runs, may_run: Callable[[], bool], candidates: Iterator[Input]
) -> list[Input]:
    """Those of the ``candidates`` that reach more of what is ``wanted``; what they reach is added to ``covered``."""
    found = []
    while covered < wanted and may_run() and (given := next(candidates, None)) is not None:
        if reached := runs(given, wanted - covered):
            found.append(given)
            covered |= reached
    return found


def _is_varied(found: Sequence[Input], fixed: Collection[str]) -> bool:
    """Whether no two numbers are always equal, and the inputs differ in some size if any two sizes are equal."""
    numbers = [numbers_of(given, fixed) for given in found]
    for key, other in itertools.combinations((key for key, value in numbers[0].items() if type(value) is int), 2):
        if all(given.get(key) == given.get(other) for given in numbers):
            return False
    shapes = [[tensor.shape for tensor in tensors_in(given)] for given in found]
    return any(shape != shapes[0] for shape in shapes) or all(len(set(one)) == len(one) for one in shapes[0])


def _reduced(first: Input, runs: Runs, reached: AbstractSet[Any], is_large: Callable[[Input], bool]) -> Input:
    """``first``, or a smaller input of the same kind that also reaches what ``first`` has ``reached``."""
    generator = torch.Generator().manual_seed(2)
    tensors = tensors_in(first)
    for dim, size in enumerate(tensors[0].shape if tensors else ()):
        for other in dict.fromkeys((16 if dim else 2, size // 8, size // 2)):
            smaller = changed_input(first, generator, resize=(dim, size, other)) if 1 < other < size else None
            if smaller is not None and runs(smaller, reached) == reached:
                first = smaller
                if not is_large(first):
                    return first
                break
    return first
