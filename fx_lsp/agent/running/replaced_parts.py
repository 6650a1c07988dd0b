"""What proofs run in place of submodules whose classes are missing, so that the code around them can be compared."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import torch

from fx_lsp.agent.missing.missing_modules import MissingModule
from fx_lsp.agent.running.plain_values import tensors_of

CHANGE = 0.1
"""How much a replaced part adds to a number."""


class ReplacedPart:
    """Computes a tensor of the same shape as the first one that it gets, from all that it gets.

    Since it counts its calls and, in training mode, draws a random number at each, a program that calls it once more,
    or in another order, does not do the same.
    """

    def __init__(self, path: str) -> None:
        """``path``: where the submodule is; at each path, something else is computed."""
        self.calls = 0
        self._scale = 1 + zlib.crc32(path.encode()) % 1000 / 1000

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, training: bool) -> torch.Tensor | None:
        """What the call returns; None if there are no floating-point numbers among the arguments."""
        values = [*args, *kwargs.values()]
        tensors = [tensor for tensor in tensors_of(values) if tensor.is_floating_point()]
        if not tensors:
            return None
        self.calls += 1
        if training:
            torch.rand(())
        added = torch.tanh(self._scale * tensors[0])
        numbers = [value for value in values if isinstance(value, int | float)]
        for place, other in enumerate([*(tensor.mean() for tensor in tensors[1:]), *numbers], start=1):
            added = added + place * other
        return tensors[0] + CHANGE * added


def replace_missing_parts(root: torch.nn.Module) -> None:
    """From now on, let the submodules whose classes are missing compute something, instead of raising `MissingCall`."""
    for path, part in root.named_modules():
        if type(part) is MissingModule:
            part.replace_with(ReplacedPart(path))
