"""A builtin that compares, two calls below the traced forward."""

import math

import torch.nn.functional as F
from torch import Tensor, nn


def same_padding(size: int, kernel: int, stride: int) -> int:
    covered = (math.ceil(size / stride) - 1) * stride + kernel
    return max(covered - size, 0)  # error[control-flow]: max(covered - size, 0)


def pad_same(x: Tensor, kernel: int, stride: int) -> Tensor:
    missing = same_padding(x.shape[-1], kernel, stride)
    return F.pad(x, [missing // 2, missing - missing // 2])


class SameConv(nn.Conv1d):
    def __init__(self) -> None:
        super().__init__(4, 8, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(pad_same(x, 3, 2))
