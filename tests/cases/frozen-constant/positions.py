"""Tensors that forwards make themselves."""

import torch
from torch import Tensor, nn

MEAN = torch.ones(3)


class Positions(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.arange(3)  # hint[frozen-constant]: x + torch.arange(3)
        x = x - MEAN  # hint[frozen-constant]: x - MEAN
        return x[:, torch.tensor([0, 2])]  # hint[frozen-constant]: x[:, torch.tensor([0, 2])]


class Registered(nn.Module):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean + torch.arange(3, device=x.device))[:, [0, 2]]
