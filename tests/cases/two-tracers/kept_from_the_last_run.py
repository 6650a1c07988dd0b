"""A value that the first trace left on the module."""

import torch
import torch.fx
from torch import Tensor, nn


class Momentum(nn.Module):
    last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        # error[two-tracers]: torch.lerp(self.last, x, 0.5)
        out = x if self.last is None else torch.lerp(self.last, x, 0.5)
        self.last = out
        return out


momentum = Momentum()
torch.fx.symbolic_trace(momentum)
torch.fx.symbolic_trace(momentum)
