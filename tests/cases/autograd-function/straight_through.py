"""Backward passes of their own, as quantization has them."""
# mypy: disable-error-code="no-any-return,no-untyped-call"

from typing import Any

import torch
import torch.fx
from torch import Tensor, nn


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient


class Reversed(Rounded):
    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        return -gradient


def quantized(x: Tensor) -> Tensor:
    return Rounded.apply(x)  # warning[autograd-function]: Rounded.apply(x)


def recorded(x: Tensor) -> Tensor:
    return Rounded.apply(x)


torch.fx.wrap("recorded")


class Quantizer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = Reversed.apply(quantized(x))  # warning[autograd-function]: Reversed.apply(quantized(x))
        function = Rounded.apply
        return function(-y)  # warning[autograd-function]: function(-y)


class Through(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x + (x.round() - x).detach()
        return recorded(x) + torch.relu(x)
