"""Lets convolutions on the meta device say how many channels they expect, as they do on the CPU.

There, torch's error does not contain the numbers, which a search for inputs needs, and a transposed convolution accepts
any number of channels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

CONVOLUTIONS = frozenset({torch.conv1d, torch.conv2d, torch.conv3d})
TRANSPOSED = frozenset({torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d})


class CountedChannels(TorchFunctionMode):
    """In this mode, a convolution raises an error with both numbers if its input has too few or too many channels."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        if func in CONVOLUTIONS:
            _check_channels(*args, **keywords)
        elif func in TRANSPOSED:
            _check_channels_of_transposed(*args, **keywords)
        return func(*args, **keywords)


def _check_channels(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: object = None,
    stride: object = 1,
    padding: object = 0,
    dilation: object = 1,
    groups: int = 1,
) -> None:
    _check(input, weight, weight.shape[1] * groups)


def _check_channels_of_transposed(input: torch.Tensor, weight: torch.Tensor, *_: object, **__: object) -> None:
    _check(input, weight, weight.shape[0])


def _check(input: torch.Tensor, weight: torch.Tensor, wanted: int) -> None:
    """Raises `RuntimeError` if ``input`` has not as many channels as are ``wanted``.

    As in torch's error on the CPU, the shape of an input without a batch has a 1 in front.
    """
    shape = [1] * (input.dim() == weight.dim() - 1) + list(input.shape)
    if len(shape) == weight.dim() and (found := shape[1]) != wanted:
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected input{shape} to have {wanted} channels, but got "
            f"{found} channels instead"
        )
