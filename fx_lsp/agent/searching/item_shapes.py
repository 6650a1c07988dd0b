"""First guesses for lists and dicts of tensors: an item for each of the submodules that work on one item each.

The levels of a feature pyramid have half the height and width of the level before, and their own numbers of channels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import nn

from fx_lsp.agent.running.observation import modules_of
from fx_lsp.agent.searching.wanted_inputs import BATCH, LENGTH, TensorLike, Wanted, is_shape
from fx_lsp.agent.searching.written_lists import MOST_ITEMS, WrittenList

SMALLEST_SIDE, LARGEST_SIDE = 8, 64
"""The height of the last level of a pyramid, unless the first would be larger than the largest."""

MOST_CONTAINERS = 3
"""How many lists, or dicts, of submodules are tried."""

Shapes = Callable[[int], tuple[int, ...]]
"""The shape that a submodule takes, by the height of an image."""


def items_for_submodules(
    root: Callable[..., Any], names: Sequence[str], lists: Mapping[str, WrittenList], dicts: Collection[str]
) -> Iterator[Wanted]:
    """Inputs in which ``lists`` and ``dicts`` have an item for each submodule of one of the containers of ``root``.

    The other ``names`` are tensors like the item that would follow.
    """
    if not (lists or dicts):
        return
    for keys, shapes in itertools.islice(_containers(root), MOST_CONTAINERS):
        count = len(shapes)
        if any((found.items or 0) > count for found in lists.values()):
            continue
        sides = [max(1, min(LARGEST_SIDE, SMALLEST_SIDE << (count - 1)) >> level) for level in range(count + 1)]
        for chosen in dict.fromkeys([tuple(sides), (*sides[-2::-1], sides[-1]), tuple(sides[:1] * (count + 1))]):
            items = [TensorLike(shape(side)) for shape, side in zip(shapes, chosen, strict=False)]
            following = TensorLike(shapes[-1](chosen[-1]))
            wanted: dict[Any, TensorLike] = {}
            for name in names:
                if name in dicts:
                    wanted |= {(name, key): item for key, item in zip(keys, items, strict=True)}
                elif name in lists:
                    wanted |= {(name, at): item for at, item in enumerate(items)}
                else:
                    wanted[name,] = following
            if all(is_shape(like.shape) for like in wanted.values()):
                yield wanted


def _containers(root: Callable[..., Any]) -> Iterator[tuple[list[str], list[Shapes]]]:
    """The lists and dicts of submodules or weights in ``root``: the keys, and what each item takes.

    Those come first that hold layers of different widths.
    """
    found: dict[tuple[Any, ...], tuple[list[str], list[Shapes]]] = {}
    for container in modules_of(root):
        least = 2 if isinstance(container, nn.ModuleList) else 1
        with suppress(Exception):  # the program's own classes may have other attributes than torch's
            named = {key: shapes for key, item in _items(container) if (shapes := _taken_by(item)) is not None}
            if least <= len(named) <= MOST_ITEMS:
                examples = tuple(shapes(LENGTH) for shapes in named.values())
                found.setdefault(examples, ([*named], [*named.values()]))
    yield from (found[examples] for examples in sorted(found, key=lambda examples: -len(set(examples))))


def _items(container: nn.Module) -> list[tuple[str, Any]]:
    """What a list or dict of submodules or weights holds; nothing if the module is neither."""
    if not isinstance(container, nn.ModuleList | nn.ModuleDict | nn.ParameterDict):
        return []
    return [*container.named_children(), *container.named_parameters(recurse=False)]


def _taken_by(item: nn.Module | torch.Tensor) -> Shapes | None:
    """The shape that the first layer of a submodule takes, or that a weight can be multiplied with."""
    if isinstance(item, torch.Tensor):
        size = item.shape[-1] if item.dim() else 1
        return lambda side: (BATCH, size, LENGTH) if item.dim() > 1 else (BATCH, size)
    for layer in item.modules():
        match layer:
            case nn.Conv1d(in_channels=channels) | nn.ConvTranspose1d(in_channels=channels):
                return lambda side: (BATCH, channels, side)
            case nn.Conv2d(in_channels=channels) | nn.ConvTranspose2d(in_channels=channels):
                return lambda side: (BATCH, channels, side, side)
            case nn.BatchNorm2d(num_features=channels):
                return lambda side: (BATCH, channels, side, side)
            case nn.Conv3d(in_channels=channels) | nn.ConvTranspose3d(in_channels=channels):
                return lambda side: (BATCH, channels, min(side, SMALLEST_SIDE), side, side)
            case nn.Linear(in_features=features):
                return lambda side: (BATCH, features)
            case nn.LayerNorm(normalized_shape=sizes):
                return lambda side: (BATCH, *sizes) if len(sizes) > 1 else (BATCH, LENGTH, *sizes)
    return None
