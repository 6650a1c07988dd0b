"""A tensor made of sizes: the constructor takes the length of what it is given."""

import torch
from torch import Tensor, nn


class Grid(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        sizes = torch.tensor([x.shape[-2], x.shape[-1]])  # error[len]: torch.tensor([x.shape[-2], x.shape[-1]])
        return x * sizes.sum()
