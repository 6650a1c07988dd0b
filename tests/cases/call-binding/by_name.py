"""Concrete arguments by name, and inputs of any number."""

import torch.fx
from torch import Tensor, nn


class Weighted(nn.Module):
    def forward(self, x: Tensor, weight: float = 1.0, *rest: Tensor, **named: Tensor) -> Tensor:
        return x * weight


torch.fx.symbolic_trace(Weighted(), concrete_args={"weight": 2.0})
