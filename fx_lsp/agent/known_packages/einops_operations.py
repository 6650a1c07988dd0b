"""What einops does with tensors that are not traced, for example while a model is built.

A pattern such as ``"b (h d) n -> b h n d"`` names the axes of a tensor before and after; axes in parentheses are one
axis of the tensor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

_TOKEN = re.compile(r"\s*(\.\.\.|[()]|\w+)")

_Groups = list[list[str]]
"""The axes of a tensor, each as the named axes that it consists of.

The name ``...`` stands for any number of axes of a tensor, ``(...)`` for any number that are one axis of it.
"""

_Reduction = Callable[[torch.Tensor, list[int]], torch.Tensor]

_REDUCTIONS: dict[str, _Reduction] = {
    "max": lambda tensor, axes: tensor.amax(axes),
    "mean": lambda tensor, axes: tensor.mean(axes),
    "min": lambda tensor, axes: tensor.amin(axes),
    "sum": lambda tensor, axes: tensor.sum(axes),
}


class EinopsError(RuntimeError):
    """A pattern does not fit the tensor."""


def rearrange(tensor: Any, pattern: Any, **axes_lengths: Any) -> Any:
    """``tensor`` with its axes in another order, split or merged; NotImplemented if that is not known."""
    return _transformed(tensor, pattern, axes_lengths)


def repeat(tensor: Any, pattern: Any, **axes_lengths: Any) -> Any:
    """``tensor`` with new axes along which it is repeated; NotImplemented if that is not known."""
    return _transformed(tensor, pattern, axes_lengths, adds=True)


def reduce(tensor: Any, pattern: Any, reduction: Any, **axes_lengths: Any) -> Any:
    """``tensor`` without the axes that are missing on the right-hand side; NotImplemented if that is not known."""
    known = _REDUCTIONS.get(reduction) if isinstance(reduction, str) else None
    return NotImplemented if known is None else _transformed(tensor, pattern, axes_lengths, reduction=known)


def _transformed(
    value: Any, pattern: Any, given: Mapping[str, Any], *, adds: bool = False, reduction: _Reduction | None = None
) -> Any:
    """``value`` as ``pattern`` says. ``adds``: whether there may be new axes. Raises `EinopsError`."""
    if isinstance(value, list | tuple) and value and all(isinstance(one, torch.Tensor) for one in value):
        value = torch.stack(list(value))
    sides = _sides(pattern) if isinstance(pattern, str) else None
    if sides is None or not isinstance(value, torch.Tensor):
        return NotImplemented
    left, right = (_without_ellipsis(side, value.dim() - len(sides[0]) + 1) for side in sides)
    before, after = _names(left), _names(right)
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    if len(left) != value.dim() or (gone and not reduction) or (new and not adds) or given.keys() - {*before, *after}:
        raise EinopsError(f"{pattern!r} does not fit a tensor of shape {tuple(value.shape)} and the axes {[*given]}")
    lengths = _lengths(left, value.shape, {**_numbers(before + after), **given})
    if lengths is None or any(name not in lengths for name in new):
        raise EinopsError(f"{pattern!r} does not fit a tensor of shape {tuple(value.shape)} and the lengths {given}")
    tensor = value.reshape([lengths[name] for name in before])
    if reduction and gone:
        tensor = reduction(tensor, [before.index(name) for name in gone])
    kept = [name for name in before if name not in gone]
    tensor = tensor.permute([kept.index(name) for name in after if name not in new])
    for position, name in enumerate(after):
        tensor = tensor.unsqueeze(position) if name in new else tensor
    tensor = tensor.expand([lengths[name] for name in after])
    return tensor.reshape([math.prod(lengths[name] for name in group) for group in right])


def _sides(pattern: str) -> list[_Groups] | None:
    """The two sides of a pattern; None if there are not two, or one is not understood."""
    sides = [groups for number, side in enumerate(pattern.split("->")) if (groups := _groups(side, number)) is not None]
    return sides if len(sides) == 2 else None


def _groups(side: str, number: int) -> _Groups | None:
    """The axes that one side of a pattern names; None if it is not understood. Raises `EinopsError`.

    An axis that is a number gets a name of its own: its length, the side's ``number`` and its position.
    """
    tokens = _TOKEN.findall(side)
    groups: _Groups = []
    open_group: list[str] | None = None
    for position, token in enumerate(tokens):
        if token == "(" and open_group is None:
            groups.append(open_group := [])
        elif token == ")" and open_group is not None:
            open_group = None
        elif token in "()":
            return None
        else:
            if token.startswith("_") or token.endswith("_"):  # einops takes no such names
                raise EinopsError(f"{side!r} has an axis whose name begins or ends with an underscore")
            named = [] if token == "1" else [f"{token} {number} {position}" if token.isdecimal() else token]
            if open_group is None:
                groups.append(named)
            else:
                open_group += ["(...)"] if token == "..." else named
    is_understood = "".join(tokens) == "".join(side.split()) and open_group is None
    return groups if is_understood and len(_names(groups)) == len(set(_names(groups))) else None


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """The lengths of the axes that are numbers."""
    return {name: int(name.split()[0]) for name in names if name[0].isdecimal()}


def _names(side: _Groups) -> list[str]:
    """The names of all axes, in order."""
    return [name for group in side for name in group]


def _without_ellipsis(side: _Groups, count: int) -> _Groups:
    """``side`` with ``count`` axes in place of the ellipsis: one by one, or all in the group that it is in."""
    meant = [f"... {index}" for index in range(count)]
    spread: _Groups = []
    for group in side:
        if group == ["..."]:
            spread += [[name] for name in meant]
        else:
            spread.append([one for name in group for one in (meant if name == "(...)" else [name])])
    return spread


def _lengths(side: _Groups, shape: Sequence[int], given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The lengths of all axes of a tensor of a ``shape``; None if they contradict those that are ``given``."""
    lengths = dict(given)
    for group, size in zip(side, shape, strict=True):
        known = math.prod(lengths[name] for name in group if name in lengths)
        match [name for name in group if name not in lengths]:
            case [] if known == size:
                pass
            case [name] if known and size % known == 0:
                lengths[name] = size // known
            case _:
                return None
    return lengths
