"""Parameters that are registered."""

import torch
from torch import Tensor, nn


class Owned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(4))])

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x * self.scale + self.shifts[0]
        return out
