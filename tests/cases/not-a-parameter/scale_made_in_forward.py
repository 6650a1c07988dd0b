"""A parameter that is made where it is used."""

import torch
from torch import Tensor, nn


class LayerScale(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        gamma = nn.Parameter(torch.ones(8))
        return x * gamma  # error[not-a-parameter]: x * gamma
