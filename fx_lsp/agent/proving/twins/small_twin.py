"""Finds small twins of a large model, on which an edit can be tried in little time.

A twin is what the model's own recipe builds if its constructors receive smaller numbers. Which numbers determine the
model's size, and which of them have to change together, is found by trying: a change is kept if the model can still be
built, becomes smaller, fails to be traced at the same places, and records the same operations at the same lines.

It should also accept inputs like the model's, as far as shapes go: then it can probably be run.

A small model may hide what an edit changes: with one image patch, every mean is a sum. So there are two twins, and the
numbers of the second are other multiples of the first's.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.constructor_sizes import Numbers, Size, SizedConstructors, Sizes, as_tuple
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.messages import Target
from fx_lsp.agent.processes.tensor_pickles import dumped
from fx_lsp.agent.proving.failed_builds import NotBuilt
from fx_lsp.agent.proving.failure_matching import Place, expression_at, innermost
from fx_lsp.agent.proving.run_in_child import ChildRunner
from fx_lsp.agent.proving.trial_programs import build_traceable
from fx_lsp.agent.proving.twins.smaller_numbers import (
    FEWEST,
    WIDE,
    at_most,
    divided,
    increased,
    is_large_enough,
    largest,
    multiple,
    scaled,
    smaller,
)
from fx_lsp.agent.proving.twins.twin_inputs import SHARE, accepts_scaled, input_by_shape
from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.searching.search_budget import SearchBudget
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fxcore.explore import explore
from fxcore.explore.guess_inputs import guess_inputs
from fxcore.nodes.node_text import pretty_target

LARGE = 2_000_000
"""A model that costs more than this (see `cost_of`) is replaced by smaller twins, if there are any."""

SMALL = 400_000
"""The cost of a twin that is small enough."""

COST_OF_A_MODULE = 5_000
COST_OF_AN_ELEMENT = 50
"""The costs of a submodule and of an element of an input: how many weights take about as much time on a CPU."""

LEAST_GAIN = 0.9
"""A change has to reduce the cost to this share."""

MOST_BUILDS = 120
"""How many models are built in search of a twin."""

MOST_PARTS = 60_000
"""How many submodules these may have, together with the nodes that tracing them records, after the model itself was
built and explored: about ten seconds' worth. What the search has found by then counts."""

MOST_SECONDS = 25
"""How long the search may compute then, if its constructors do more than create submodules."""

JOINT_FACTORS = (64, 16, 4)
"""By what all numbers are divided at first, unless they would become too small; then by a smaller power of 2."""

GROUPS = 32
"""The widths of many convolutional networks have to be multiples of this, the usual number of groups to normalize."""

MOST_LAYERS = 256
"""Larger numbers are not numbers of layers."""

OTHER_TWINS = (
    (1, (((3, 2), (2, 1)), ((2, 1), (3, 2)), ((2, 1),))),
    (0, (((2, 1), (3, 1)), ((3, 1), (2, 1)), ((2, 1),), ((3, 1),))),
)
"""How the numbers of the other twins differ from the first's: what is added to numbers less than `WIDE` (if it is not
0), and, for one attempt after another, the ratios by which the others are multiplied, in turn."""

MOST_RESTORED = 16
"""How many numbers, or pairs of them, are restored in search of a twin that can be run."""

MOST_TIMES_LARGER = 4
"""How many times the cost of the twin it may have then."""

MOST_AGREEING = 6
"""How many changes of one number in invented arguments are tried in order to run a model."""

Twins = tuple[Sizes, ...]
"""The numbers to replace for a twin, and for each of one or two others, one of which should also run."""


@dataclass(frozen=True)
class _Traits:
    """What a model and its twin have in common."""

    places: frozenset[Place]
    """Where tracing fails."""
    operations: frozenset[tuple[str, int, str]]
    """File, line and operation of each node, without the indices of repeated blocks."""


class _TwinSearch:
    """Looks for the twins of one target, in a process of its own."""

    def __init__(self, file: ImportedFile, target: Target) -> None:
        self._file = file
        self._target = target
        self._builds = 0
        self._budget = SearchBudget(SHARE)
        """For runs of twins."""
        self._parts = 0
        """How many submodules were built and how many nodes were recorded."""
        constructors = SizedConstructors({})
        self._failed: NotBuilt | None = None
        """Why the model itself can't be built."""
        self._model: Built | None = None
        """The model itself; None if it can't be built, or if it is no module."""
        try:
            self._model = self._built(constructors)
        except NotBuilt as end:
            self._failed = end
        self.given: Input | None = None
        """An input whose shapes the model accepts; None if none is known."""
        self.found = list(constructors.found)
        """The numbers that may be replaced: those that the model's outermost constructors receive."""
        self._written = [size for size in constructors.written if size not in constructors.found]
        """The numbers with which its constructors call others. They are replaced as well if the others do not help."""
        self._sizes: dict[Size, Numbers] = {}
        """The replacements so far."""
        self._cost = cost_of(self._model.root) if self._model else 0
        """The cost of the model with these replacements."""
        self._submodules = _submodules(self._model.root) if self._model else 0
        """How many submodules the model has with these replacements."""
        self._failed_trials: set[frozenset[tuple[Size, Numbers]]] = set()
        """Replacements that led to another program, or to none."""
        self._as_they_are = False
        """Whether widths of the twin that was found last need not be multiples of what they were multiples of."""
        self._layers: dict[Size, bool] = {}
        """For large numbers that were looked at: whether they count layers."""
        self._end = math.inf
        """The processor time of this process at which the search ends."""

    def run(self, similar: Twins) -> Twins | None:
        """The numbers to replace for each twin; None if the model is small, or can't be made smaller.

        ``similar`` are the twins of the same class before its text was changed. Raises `NotBuilt` if the model can't be
        built.
        """
        if self._failed is not None:
            raise self._failed
        if self._model is None or self._cost <= LARGE or self._traits is None:
            return None
        if similar and all(map(self._is_twin, similar)):
            return similar
        self._parts, self._end = 0, time.process_time() + MOST_SECONDS
        self._shrink_all()
        before = self._state
        if self._cost > LARGE and self._written:
            self.found += self._written
            self._shrink_all()
        if not self._make_runnable() and self._sizes.keys() & set(self._written):
            # The same number may also be written in a call of one of torch's layers, where it is not replaced.
            self._state = before
            self._make_runnable()
        others = [other for options in OTHER_TWINS if (other := self._other_twin(*options)) is not None]
        return (self._sizes, *others) if self._sizes and others else None

    @property
    def _state(self) -> tuple[dict[Size, Numbers], int, int, bool]:
        """The twin that was found last."""
        return self._sizes, self._cost, self._submodules, self._as_they_are

    @_state.setter
    def _state(self, state: tuple[dict[Size, Numbers], int, int, bool]) -> None:
        self._sizes, self._cost, self._submodules, self._as_they_are = state

    @functools.cached_property
    def _units(self) -> set[str]:
        return _unit_weights(self._model.root) if self._model else set()

    @functools.cached_property
    def _traits(self) -> _Traits | None:
        """The traits of the model itself; None if it can't be explored."""
        return self._traits_of(self._model)

    def _is_twin(self, sizes: Sizes) -> bool:
        """Whether numbers that made a similar model small do so for this one."""
        if not sizes.keys() <= {*self.found, *self._written}:
            return False
        built = self._build(SizedConstructors(sizes))
        if built is None or cost_of(built.root) > LEAST_GAIN * self._cost:
            return False
        return _unit_weights(built.root) <= self._units and self._traits_of(built) == self._traits

    def _other_twin(self, added: int, options: Sequence[Sequence[tuple[int, int]]]) -> Sizes | None:
        """A twin that differs from the first in all numbers; None if there is none. See `OTHER_TWINS`."""
        for ratios in options:
            other: dict[Size, Numbers] = {}
            for (size, new), ratio in zip(self._sizes.items(), itertools.cycle(ratios), strict=False):
                is_narrow = added and (largest(size.value) < WIDE or self._layers.get(size, False))
                larger = increased(new, added) if is_narrow else scaled(new, *ratio)
                other[size] = at_most(larger, size.value)
            for trial in (self._with_multiples(other), *([self._changed(other)] if self._as_they_are else [])):
                if self._traits_of(self._build(SizedConstructors(trial))) == self._traits:
                    return trial
        return None

    def _shrink_all(self) -> None:
        """Make numbers smaller until the model is small enough or none of them makes it smaller."""
        self._shrink_together()
        wanted = [size for size in self.found if largest(size.value) > FEWEST]
        wanted.sort(key=lambda size: largest(size.value))  # fewer layers soon make the rest faster
        while self._cost > SMALL and wanted:
            wanted = [size for size in wanted if self._cost > SMALL and self._shrink(size)]

    def _shrink_together(self) -> None:
        """Divide many numbers at once, if that is possible: one change makes all further builds cheaper.

        First all of them, then only the widths, at last so that these remain multiples of `GROUPS`.
        """
        wide = [size for size in self.found if largest(size.value) >= WIDE]
        for sizes, unit in ((self.found, 1), (wide, 1), (wide, GROUPS)):
            for factor in JOINT_FACTORS:
                trial = {size: divided(size.value, factor, unit) for size in sizes}
                for as_they_are in (False, True) if unit > 1 else (False,):
                    if self._try(trial, as_they_are=as_they_are) == "smaller":
                        return

    def _shrink(self, size: Size) -> bool:
        """Make one number smaller if that makes the model smaller; return whether it does."""
        value, original = self._sizes.get(size, size.value), size.value
        if self._counts_layers(size):
            original = at_most(value, tuple(WIDE - 1 for _ in as_tuple(value)))
        for new in smaller(value, original):
            trial = {**self._sizes, size: new}
            result = self._try(trial)
            if result == "another program":
                result = self._try({**trial, **self._together(size, new)})
            if result == "another program" and largest(new) % GROUPS == 0:
                result = self._try(trial, as_they_are=True)
            if result != "another program":
                return result == "smaller"
        return False

    def _make_runnable(self) -> bool | None:
        """Restore one or two numbers if the twin then accepts inputs like the model's, and doesn't otherwise.

        The program may have written a number twice, once as the default of a parameter. Returns whether the twin
        accepts such inputs; None if no inputs of the model are known.
        """
        root = self._model.root if self._model and self._sizes else None
        self.given = input_by_shape(root) if root is not None else None
        if self.given is None:
            return None
        if self._accepts(self._build(SizedConstructors(self._sizes)), self._sizes):
            return True
        most = max(LARGE, MOST_TIMES_LARGER * self._cost)
        restored = itertools.chain(*(itertools.combinations(self._sizes, count) for count in (1, 2)))
        for sizes in itertools.islice(restored, MOST_RESTORED):
            if self._is_over:
                return False
            ChildRunner.go_on()
            trial = {other: new for other, new in self._sizes.items() if other not in sizes}
            built = self._build(SizedConstructors(trial)) if trial else None
            is_small = built is not None and cost_of(built.root) <= most
            if built and is_small and self._accepts(built, trial) and self._traits_of(built) == self._traits:
                self._sizes, self._cost, self._submodules = trial, cost_of(built.root), _submodules(built.root)
                return True
        return False

    def _accepts(self, twin: Built | None, sizes: Sizes) -> bool:
        return (
            twin is not None and self.given is not None and accepts_scaled(twin.root, sizes, self.given, self._budget)
        )

    def _counts_layers(self, size: Size) -> bool:
        """Whether a large number determines how many submodules there are, as a number of layers does."""
        if size not in self._layers and WIDE <= largest(size.value) <= MOST_LAYERS and not self._is_over:
            ChildRunner.go_on()
            with_one_less = {**self._sizes, size: increased(self._sizes.get(size, size.value), -1)}
            built = self._build(SizedConstructors(with_one_less))
            self._layers[size] = built is not None and _submodules(built.root) < self._submodules
        return self._layers.get(size, False)

    @property
    def _is_over(self) -> bool:
        is_over = self._builds >= MOST_BUILDS or self._parts >= MOST_PARTS
        return is_over or time.process_time() > self._end

    def _together(self, size: Size, new: Numbers) -> dict[Size, Numbers]:
        """Replacements for the numbers that are equal to ``size``, or a multiple or a part of it, in proportion."""
        old = largest(self._sizes.get(size, size.value))
        changed = {}
        for other in self.found if largest(size.value) >= WIDE else ():
            value = self._sizes.get(other, other.value)
            if other == size or largest(other.value) < WIDE:
                continue
            changed_too = scaled(value, largest(new), old)
            is_related = largest(value) % old == 0 or old % largest(value) == 0
            if is_related and is_large_enough(changed_too, other.value):
                changed[other] = changed_too
        return changed

    def _try(
        self, trial: dict[Size, Numbers], *, as_they_are: bool = False
    ) -> Literal["smaller", "as large", "another program"]:
        """What the replacements ``trial`` lead to; if it is a smaller twin, they are kept.

        ``as_they_are``: widths need not remain multiples of other numbers, which they may be by chance.
        """
        ChildRunner.go_on()
        trial = self._changed(trial) if as_they_are else self._with_multiples(trial)
        if (key := frozenset(trial.items())) in self._failed_trials or self._is_over:
            return "another program"
        built = self._build(SizedConstructors(trial))
        if built is None or not _unit_weights(built.root) <= self._units:
            self._failed_trials.add(key)
            return "another program"
        if (cost := cost_of(built.root)) > LEAST_GAIN * self._cost:
            return "as large"
        if self._traits_of(built) != self._traits:
            self._failed_trials.add(key)
            return "another program"
        self._sizes, self._cost, self._submodules = trial, cost, _submodules(built.root)
        self._as_they_are = as_they_are
        return "smaller"

    def _with_multiples(self, trial: dict[Size, Numbers]) -> dict[Size, Numbers]:
        """The replacements ``trial``, with widths increased so that they remain multiples of other numbers.

        A model can often be built and traced, but not be run, if a number of heads does not divide its width.
        """
        changed = dict(trial)
        pairs: list[tuple[int, int]] = []
        for size in sorted(self.found, key=lambda size: largest(size.value)):
            new = changed.get(size, size.value)
            if size in trial and largest(size.value) >= WIDE and not self._layers.get(size, False):
                widths = [multiple(*both, pairs) for both in zip(as_tuple(size.value), as_tuple(new), strict=True)]
                new = changed[size] = tuple(widths) if isinstance(new, tuple) else widths[0]
            pairs += zip(as_tuple(size.value), as_tuple(new), strict=True)
        return self._changed(changed)

    @staticmethod
    def _changed(trial: dict[Size, Numbers]) -> dict[Size, Numbers]:
        """Those of the replacements ``trial`` that change a number."""
        return {size: new for size, new in trial.items() if new != size.value}

    def _build(self, constructors: SizedConstructors) -> Built | None:
        """The model on the meta device; None if it can't be built, or if it is no module."""
        try:
            return self._built(constructors)
        except NotBuilt:
            return None

    def _built(self, constructors: SizedConstructors) -> Built | None:
        """As `_build`, but raises `NotBuilt` if the model can't be built."""
        self._builds += 1
        seed()
        try:
            with constructors.active():
                built = build_traceable(self._file, self._target, on_meta=True)
        except Exception as error:
            raise NotBuilt.because_of(error) from None
        if not isinstance(built.root, torch.nn.Module):
            return None
        self._parts += _submodules(built.root)
        return built

    def _traits_of(self, built: Built | None) -> _Traits | None:
        """What exploring a model finds; None if it could not be built, or can't be explored."""
        if built is None:
            return None
        try:
            exploration = explore(built.root, built.concrete_args, tracer=tracer_for(built.tracer))
        except Exception:
            return None
        owns = self._file.workspace.owns
        self._parts += len(exploration.recorded.nodes)
        spans = [innermost([frame.span for frame in site.failure.frames], owns) for site in exploration.sites]
        operations = {
            (node.span.file, node.span.line, f"{node.op} {re.sub(r'[0-9]+', '', pretty_target(node.target))}")
            for node in exploration.recorded.nodes
            if node.span is not None
        }
        return _Traits(frozenset(map(expression_at, spans)), frozenset(operations))


def find_twins(file: ImportedFile, target: Target, similar: Twins = ()) -> tuple[Twins | None, Input | None]:
    """The numbers with which the target's constructors build small twins; None if none are needed or found.

    With them comes an input whose shapes the target itself accepts, if one was found. ``similar`` are the target's
    twins before its text was changed, which are tried first. Raises `NotBuilt` if the target can't be built on the meta
    device.
    """
    search = _TwinSearch(file, target)
    twins = search.run(similar)
    try:
        dumped(search.given)
    except Exception:  # it may hold an object of the program's
        return twins, None
    return twins, search.given


def agreeing_sizes(file: ImportedFile, target: Target) -> list[Sizes]:
    """For invented arguments: other numbers, each a multiple of another one, with which a model may run.

    A class may be traced with an image of 32 pixels and windows of 7, although it can only be run with 28.
    """
    numbers = _TwinSearch(file, target).found
    found: dict[tuple[Size, Numbers], None] = {}
    for size, unit in itertools.permutations(numbers, 2):
        part = largest(unit.value)
        if part >= FEWEST and any(item % part for item in as_tuple(size.value)) and min(as_tuple(size.value)) > part:
            rounded = tuple(item // part * part for item in as_tuple(size.value))
            found[size, rounded if isinstance(size.value, tuple) else rounded[0]] = None
    return [{size: new} for size, new in itertools.islice(found, MOST_AGREEING)]


def cost_of(root: torch.nn.Module) -> int:
    """A measure of the time that it takes to build and run a model."""
    weights = sum(tensor.numel() for tensors in (root.parameters(), root.buffers()) for tensor in tensors)
    try:
        inputs = sum(value.numel() for value in guess_inputs(root).values() if isinstance(value, torch.Tensor))
    except Exception:  # it reads attributes of the user's objects
        inputs = 0
    return weights + COST_OF_A_MODULE * _submodules(root) + COST_OF_AN_ELEMENT * inputs


def _submodules(root: torch.nn.Module) -> int:
    return sum(1 for _ in root.modules())


def _unit_weights(root: torch.nn.Module) -> set[str]:
    """For each weight or buffer with dimensions of size 1: its name without indices, and how many of them it has."""
    return {
        f"{re.sub(r'[0-9]+', '', name)} {list(tensor.shape).count(1)}"
        for name, tensor in itertools.chain(root.named_parameters(), root.named_buffers())
        if 1 in tensor.shape
    }
