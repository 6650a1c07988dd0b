"""Inputs for a model of one size, made from an input that the same model of another size runs on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import torch

from fx_lsp.agent.building.constructor_sizes import Sizes, as_tuple
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.searching.input_variations import like

MOST_SCALED = 40
"""How many inputs are made from one."""

MOST_ELEMENTS = 1 << 24
"""No tensor gets more elements than this."""

MOST_VARIED = 5
"""How many different sizes of an input are changed, in all combinations."""

MOST_OPTIONS = 5
"""How many values one size may get."""

LEAST_SIDE = 4
"""How many patches the sides of an image have at least whose number may be one of the model's."""


def scaled_inputs(given: Input, old: Sizes, new: Sizes) -> Iterator[Input]:
    """Inputs for a model that is built with the numbers ``new``, from one for the model built with ``old``.

    Each size of the tensors in ``given`` is scaled like one of the numbers, or kept; equal sizes change together.
    Inputs come first whose sizes are scaled like the numbers that they equal, or of which they are multiples.
    """
    ratios = _ratios(old, new)
    shapes = [tensor.shape for tensor in tensors_of([*given.args, *given.kwargs.values()])]
    sizes = list(dict.fromkeys(size for shape in shapes for size in shape[1:]))[:MOST_VARIED]
    options = [list(enumerate(_options(size, ratios))) for size in sizes]
    choices = sorted(itertools.product(*options), key=lambda chosen: sum(rank for rank, _ in chosen))
    for chosen in choices[:MOST_SCALED]:
        changed = {size: scaled for size, (_, scaled) in zip(sizes, chosen, strict=True)}
        if all(math.prod(_shape(shape, changed)) <= MOST_ELEMENTS for shape in shapes):
            yield _resized(given, changed)


def _ratios(old: Sizes, new: Sizes) -> list[tuple[int, int]]:
    """The numbers that differ, before and after, the largest first."""
    changed = {
        pair
        for size in old.keys() | new.keys()
        for pair in zip(as_tuple(old.get(size, size.value)), as_tuple(new.get(size, size.value)), strict=True)
    }
    return sorted(((before, after) for before, after in changed if before != after and before > 1), reverse=True)


def _options(size: int, ratios: Sequence[tuple[int, int]]) -> list[int]:
    """What ``size`` may become, the likeliest first: it may be equal to a number, a multiple of it, or neither.

    A number of patches or tokens is often the square of an image's side, or of a part of it.
    """
    equal = [after for before, after in ratios if before == size]
    multiples = [size // before * after for before, after in ratios if size % before == 0]
    roots = [(math.isqrt(before), math.isqrt(max(after, 0))) for before, after in ratios]
    roots = [pair for pair, ratio in zip(roots, ratios, strict=True) if tuple(root**2 for root in pair) == ratio]
    sides = [size // before * after for before, after in roots if before >= LEAST_SIDE and size % before == 0][:1]
    likely = [*dict.fromkeys([*equal, *multiples])][: MOST_OPTIONS - 2 - len(sides)] + sides
    others = [size * after // before for before, after in ratios if before < size]
    return list(dict.fromkeys([*likely, size, *others]))[:MOST_OPTIONS]


def _resized(given: Input, sizes: Mapping[int, int]) -> Input:
    """``given`` with other ``sizes`` in all dimensions but the first; tensors that change have other random values."""
    resized = partial(_with_shape, sizes, torch.Generator().manual_seed(3))
    return Input(map_tensors(resized, given.args), map_tensors(resized, dict(given.kwargs)))


def _with_shape(sizes: Mapping[int, int], generator: torch.Generator, tensor: torch.Tensor) -> torch.Tensor:
    shape = _shape(tensor.shape, sizes)
    return tensor if shape == list(tensor.shape) else like(tensor, shape, generator)


def _shape(shape: Sequence[int], sizes: Mapping[int, int]) -> list[int]:
    """``shape`` with other ``sizes`` in all dimensions but the first."""
    return [*shape[:1], *(sizes.get(size, size) for size in shape[1:])]
