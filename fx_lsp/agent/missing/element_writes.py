"""Makes ``tensor[i, j] = number`` faster while modules are built on the meta device.

Constructors that fill tables in loops make millions of these assignments. A mode would handle each in a Python call of
its own, which takes several times as long as to check the index, which is all that there is to do.
"""

from __future__ import annotations

from typing import Any

import torch

_NUMBERS = frozenset({int, float})

_times = 0
"""How many more times these assignments were made fast than usual again, in this process."""


def make_element_writes_fast() -> None:
    """From now on, have elements without memory assigned without asking modes, unless the program has its own way.

    Each call needs one of `make_element_writes_usual`.
    """
    global _times
    _times += 1
    if "__setitem__" not in vars(torch.Tensor):
        torch.Tensor.__setitem__ = _assign  # type: ignore[assignment]


def make_element_writes_usual() -> None:
    """Undo one call of `make_element_writes_fast`."""
    global _times
    _times -= 1
    if not _times and vars(torch.Tensor).get("__setitem__") is _assign:
        del torch.Tensor.__setitem__


def _assign(tensor: torch.Tensor, index: Any, value: Any) -> None:
    if type(value) in _NUMBERS and type(tensor) is torch.Tensor and _is_nowhere(tensor, index):
        return
    del torch.Tensor.__setitem__  # traces and subclasses are to hear of the usual function
    try:
        tensor[index] = value
    finally:
        torch.Tensor.__setitem__ = _assign  # type: ignore[assignment]


def _is_nowhere(tensor: torch.Tensor, index: object) -> bool:
    """Whether ``index`` names an element that exists but has no memory, and autograd would not note a change."""
    indices = index if type(index) is tuple else (index,)
    with torch._C.DisableTorchFunction():  # modes would also be asked for each attribute of the tensor
        shape = tensor.shape if tensor.is_meta and not tensor.requires_grad else ()
    return len(indices) == len(shape) > 0 and all(map(_is_number_of_item, indices, shape))


def _is_number_of_item(at: object, size: int) -> bool:
    return type(at) is int and -size <= at < size
