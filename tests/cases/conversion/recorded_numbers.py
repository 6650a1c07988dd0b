"""What is recorded: torch's own conversions, all of math, whole division."""

import math

import torch
from torch import Tensor, nn


class Grid(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        side = torch.sym_int(math.sqrt(x.shape[1]))  # type: ignore[no-untyped-call]
        half = math.ceil(x.shape[2] / 2) + x.shape[2] // 2
        return x.reshape((-1, side, side)) * half
