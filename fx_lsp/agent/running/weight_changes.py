"""Runs a program with other weights and buffers, by which it may decide, as it does after some training."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.parameter import is_lazy

LARGEST = 50_000_000
"""How many elements the weights and buffers may have together: all are copied."""


@dataclass(frozen=True)
class WeightChange:
    """What the weights and buffers of a program are changed to."""

    factor: float = 1.0
    """What weights with a fraction are multiplied by."""
    shift: float = 0.0
    """What is then added to them."""
    only: str = ""
    """The name of the only weight that is changed; empty to change all."""
    filled: float | None = None
    """What buffers are filled with that hold integers, booleans or a single number; None to leave them alone."""


@contextlib.contextmanager
def with_weights(root: torch.nn.Module | None, change: WeightChange | None) -> Iterator[None]:
    """Within the block, the weights and buffers of ``root`` are changed; after it, they are what they were before."""
    if root is None or change is None:
        yield
        return
    holders: list[dict[str, Any]] = [
        held for module in root.modules() for held in (module._parameters, module._buffers)
    ]
    saved = [(held, name, tensor, _copied(tensor)) for held in holders for name, tensor in held.items()]
    try:
        for weight_name, parameter in root.named_parameters():
            if _is_writable(parameter) and parameter.is_floating_point() and change.only in ("", weight_name):
                parameter.data.mul_(change.factor).add_(change.shift)
        for buffer in root.buffers():
            is_meant = not buffer.is_floating_point() or buffer.numel() == 1
            if change.filled is not None and is_meant and _is_writable(buffer):
                buffer.data.fill_(change.filled)
        yield
    finally:
        for held, name, tensor, values in saved:
            held[name] = tensor  # the program may have put another one there
            if tensor is not None and values is not None:
                tensor.data.copy_(values)  # without a trace for autograd: a module may keep what it has computed


def can_change(root: torch.nn.Module) -> bool:
    """Whether the program has weights or buffers, but not too many to copy them for each run."""
    tensors = [*root.parameters(), *root.buffers()]
    return bool(tensors) and not any(map(is_lazy, tensors)) and sum(one.numel() for one in tensors) <= LARGEST


def _copied(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return tensor.data.clone() if tensor is not None and _is_writable(tensor) else None


def _is_writable(tensor: torch.Tensor) -> bool:
    """Whether torch lets a tensor be changed in place: not one that was expanded, whose elements share memory."""
    if is_lazy(tensor):
        return False
    strides = tensor.stride() if tensor.layout is torch.strided else tensor.shape
    return not any(step == 0 and size > 1 for step, size in zip(strides, tensor.shape, strict=True))
