"""The parameters and buffers of a module and of each of its submodules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from fx_lsp.agent.messages import Tensors


@dataclass(frozen=True)
class OwnTensors:
    """The parameters and buffers of a module and its submodules."""

    type: str
    """The name of the module's class."""
    parameters: Tensors
    trainable: int
    """How many numbers the parameters that require gradients hold."""
    buffers: Tensors


def tensors_by_module(root: torch.nn.Module) -> dict[str, OwnTensors]:
    """The parameters and buffers of each module by path, the root's (empty) first.

    A module that is reachable by several paths has the first. A tensor that a module holds more than once counts once.

    Raises:
        ValueError: A parameter or buffer has no shape until the module is called.
    """
    return {path: _tensors_of(module) for path, module in root.named_modules()}


def _tensors_of(module: torch.nn.Module) -> OwnTensors:
    parameters = list(module.parameters())
    trainable = sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
    return OwnTensors(type(module).__name__, _summed(parameters), trainable, _summed(module.buffers()))


def _summed(tensors: Iterable[torch.Tensor]) -> Tensors:
    count, sizes = 0, Counter[str]()
    for tensor in tensors:
        count += tensor.numel()
        sizes[str(tensor.dtype).removeprefix("torch.")] += tensor.numel() * tensor.element_size()
    return Tensors(count, dict(sizes))
