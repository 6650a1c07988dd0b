"""The inputs that a search tries, as shapes and kinds of values, also in lists and dicts.

A `Path` says where in the arguments a tensor is. While arguments are put together, a list is a dict with the indices
as keys, and an object is a dict with `AttributeName`s.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch

from fx_lsp.agent.running.records import AttributeName, Record

LARGEST = 2_000_000
"""The maximum number of elements of an input."""

BATCH, LENGTH = 2, 16
"""The first batch size to try, and the first length of a sequence."""

NUMBER = 3
"""The first number to try; it is not the batch size."""

LONGEST_SHAPE = 5
"""The maximum number of an input's dimensions."""

Kind = Literal["float", "index", "mask", "unit", "number", "none", "length"]
"""``unit``: from 0 to 1, so that each number can be converted to an index; ``number``: an int instead of a tensor, the
first size of the shape; ``none``: None instead of a tensor; ``length``: the lengths of sequences, the longest first."""

FEW = 2
"""How long the longest sequence is at first."""

KINDS: tuple[Kind, ...] = ("float", "index", "mask", "unit", "none", "number")
"""Those to try without a hint."""


@dataclass(frozen=True)
class TensorLike:
    """A tensor to make."""

    shape: tuple[int, ...]
    kind: Kind = "float"
    below: int | None = None
    """What indices are less than; None means the ``rows`` of `make`. Of lengths, this is the largest."""

    def make(self, rows: int, generator: torch.Generator) -> torch.Tensor | int | None:
        """A tensor of random values, a number, or None; indices are less than ``rows``, unless `below` is known."""
        if self.kind == "none":
            return None
        if self.kind == "number":
            return self.shape[0] if self.shape else NUMBER
        if self.kind == "index":
            return torch.randint(self.below or rows, self.shape, generator=generator)
        if self.kind == "length":
            lengths = torch.randint(1, (self.below or FEW) + 1, self.shape, generator=generator)
            lengths.view(-1)[:1] = self.below or FEW
            return lengths.sort(descending=True).values if self.shape else lengths
        if self.kind == "unit":
            return torch.rand(self.shape, generator=generator)
        values = torch.randn(self.shape, generator=generator)
        return values > 0 if self.kind == "mask" else values


Path = tuple[str | int, ...]
"""Where a tensor is: the parameter, then keys of dicts, indices of lists and `AttributeName`s."""

Wanted = Mapping[Path, TensorLike]
"""The tensors to pass."""


def is_shape(shape: tuple[int, ...]) -> bool:
    """Whether a tensor of this shape is tried: neither empty nor huge."""
    return len(shape) <= LONGEST_SHAPE and all(size > 0 for size in shape) and math.prod(shape) <= LARGEST


def put(container: dict[Any, Any], path: Path, value: torch.Tensor | int | None) -> None:
    """Put ``value`` at ``path``, where any container is a dict."""
    for step in path[:-1]:
        container = container.setdefault(step, {})
    container[path[-1]] = value


def with_lists(value: Any) -> Any:
    """``value`` with lists instead of the dicts whose keys are indices, and objects for those of attributes."""
    if not isinstance(value, dict):
        return value
    items = {key: with_lists(item) for key, item in value.items()}
    if 0 in items:
        return list(items.values())
    return Record(items) if any(isinstance(key, AttributeName) for key in items) else items


def value_at(arguments: Any, path: Path) -> Any:
    """What is at ``path``; None if the program has removed it."""
    try:
        return functools.reduce(operator.getitem, path, arguments)
    except (LookupError, TypeError):
        return None


def replaced(wanted: Wanted, path: Path, new: Wanted) -> Wanted:
    """``wanted`` with other tensors instead of the one at ``path``."""
    return {at: like for old, kept in wanted.items() for at, like in (new.items() if old == path else [(old, kept)])}


def with_key(wanted: Wanted, container: Path, key: str, described: TensorLike | None) -> Wanted:
    """``wanted`` with a further key in the dict at ``container``, and in the other dicts of the same list.

    The tensor is like one that the dict has, unless it is ``described``.
    """
    depth = len(container)
    pattern = without_indices(container)
    same = {path[:depth]: like for path, like in wanted.items() if without_indices(path[:depth]) == pattern}
    return {**wanted, **{(*path, key): described or like for path, like in same.items()}}


def without_indices(path: Path) -> tuple[str | None, ...]:
    """The same for all items of a list."""
    return tuple(step if isinstance(step, str) else None for step in path)
