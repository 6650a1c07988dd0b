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

    Since it counts its calls, keeps what it returned last and, in training mode, draws a random number at each call, a
    program that calls it once more, or in another order, does not do the same.
    """

    def __init__(self, path: str) -> None:
        """``path``: where the submodule is; at each path, something else is computed."""
        self.calls = 0
        self.last: torch.Tensor | None = None
        self._scale = 1 + _fraction(path)

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, training: bool) -> torch.Tensor | None:
        """What the call returns; None if there are no floating-point numbers among the arguments."""
        tensors = tensors_of([*args, *kwargs.values()])
        at = next((at for at, tensor in enumerate(tensors) if tensor.is_floating_point()), None)
        if at is None:
            return None
        self.calls += 1
        if training:
            torch.rand(())
        first = tensors.pop(at)
        added = torch.tanh(self._scale * first) + _fraction(_outline((args, dict(kwargs))))
        for place, other in enumerate(tensors, start=1):
            added = added + place * _summary(other).to(first.dtype)
        result = first + CHANGE * added
        self.last = result.detach()
        return result


def _summary(tensor: torch.Tensor) -> torch.Tensor:
    """A small number that depends on each element and its place; masks may have infinite and very large elements."""
    values = (torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor).flatten().double()
    bounded = torch.sin(torch.nan_to_num(values, 2, 3, -3))
    return (bounded * torch.cos(torch.arange(len(values), device=values.device))).sum() / max(len(values), 1)


def _outline(value: Any) -> str:
    """What there is in ``value`` besides the numbers in its tensors."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{tuple(value.shape)}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_outline(value[key])}' for key in sorted(value, key=repr))}}}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_outline, value))})"
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else type(value).__name__


def _fraction(text: str) -> float:
    """A number from 0 to 1 for a text: another one for almost any other text."""
    return zlib.crc32(text.encode()) / (1 << 32)


def replace_missing_parts(root: torch.nn.Module) -> None:
    """From now on, let the submodules whose classes are missing compute something, instead of raising `MissingCall`."""
    for path, part in root.named_modules():
        if type(part) is MissingModule:
            part.replace_with(ReplacedPart(path))
