"""Values that are gathered in a list of the file."""

import torch
import torch.fx
from torch import Tensor, nn

HISTORY: list[Tensor] = []


class Recorded(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        HISTORY.append(x)
        return torch.stack(HISTORY).mean(0)  # error[two-tracers]: torch.stack(HISTORY)


torch.fx.symbolic_trace(Recorded())
torch.fx.symbolic_trace(Recorded())
