"""A function under an operator that takes functions."""

import torch
from torch import Tensor, nn


def double(x: Tensor) -> Tensor:
    return x + x


class Strict(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        # error[higher-order]: torch.ops.higher_order.strict_mode(double, (x,))
        out: Tensor = torch.ops.higher_order.strict_mode(double, (x,))
        return out
