"""A tuple of concrete arguments that is too long."""

import torch.fx
from torch import Tensor, nn


class Shift(nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


# error[call-binding]: torch.fx.symbolic_trace(Shift(1.0), concrete_args=(1, 2, 3))
torch.fx.symbolic_trace(Shift(1.0), concrete_args=(1, 2, 3))  # type: ignore[arg-type]
