"""Sizes that are handed to a constructor of torch one by one."""

import torch
from torch import Tensor, nn


class Mask(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        batch, length = x.shape[0], x.shape[1]
        return x * torch.ones(batch, length)  # error[foreign-call]: torch.ones(batch, length)
