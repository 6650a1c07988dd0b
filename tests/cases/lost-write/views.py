"""Writes in place that something else should see."""

import torch
from torch import Tensor, nn


class Shift(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        first = y[:, 0]
        first += 1  # information[lost-write]: first += 1
        y[:, 1].zero_()  # information[lost-write]: y[:, 1].zero_()
        torch.relu_(y)  # information[lost-write]: torch.relu_(y)
        return y


class Residual(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        shortcut = x
        x = torch.relu(x)
        x += shortcut
        x = x.clamp_(min=0)
        size = x.shape[0]
        half = size
        half //= 2
        return x[:, [0, 1]] * half * size
