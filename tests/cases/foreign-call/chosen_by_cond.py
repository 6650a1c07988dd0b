"""torch's own branch can't be traced symbolically."""

import torch
from torch import Tensor, nn


def negative(x: Tensor) -> Tensor:
    return -x


def positive(x: Tensor) -> Tensor:
    return x + 0


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        # error[foreign-call]: torch.cond(x.sum() > 0, positive, negative, (x,))
        out: Tensor = torch.cond(x.sum() > 0, positive, negative, (x,))
        return out
