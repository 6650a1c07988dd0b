"""Makes `tensor[i, j] = number` faster within the modes in which modules are built.

Constructors that fill tables in loops make millions of these assignments. A mode would handle each in a Python call of
its own, which takes longer than the assignment.
"""

from __future__ import annotations

from typing import Any

import torch

_NUMBERS = frozenset({int, float})

_times = 0
"""How many more times these assignments were made fast than usual again, in this process."""


def make_element_writes_fast() -> None:
    """From now on, assign numbers to elements without asking modes, none of which minds such a call.

    On the meta device, where an element has no memory, only the index is checked. Each call needs one of
    `make_element_writes_usual`.
    """
    global _times
    _times += 1
    torch.Tensor.__setitem__ = _assign  # type: ignore[assignment]


def make_element_writes_usual() -> None:
    """Undo one call of `make_element_writes_fast`."""
    global _times
    _times -= 1
    if not _times:
        del torch.Tensor.__setitem__


def _assign(tensor: torch.Tensor, index: Any, value: Any) -> None:
    if type(value) in _NUMBERS and type(tensor) is torch.Tensor:
        with torch._C.DisableTorchFunction():  # the modes would also be asked for each attribute of the tensor
            if not (tensor.is_meta and _is_element(tensor, index)):
                torch._C.TensorBase.__setitem__(tensor, index, value)
    else:
        torch._C.TensorBase.__setitem__(tensor, index, value)


def _is_element(tensor: torch.Tensor, index: object) -> bool:
    """Whether ``index`` names an element that exists, and autograd does not note what is assigned to it."""
    indices, shape = index if type(index) is tuple else (index,), tensor.shape
    is_element = len(indices) == len(shape) and not tensor.requires_grad
    return is_element and all(map(_is_number_of_item, indices, shape))


def _is_number_of_item(at: object, size: int) -> bool:
    return type(at) is int and -size <= at < size
