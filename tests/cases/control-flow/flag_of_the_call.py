"""An argument that is a flag: traced values are neither true nor false, unless the call says what it is."""

import torch
import torch.fx
from torch import Tensor, nn


class Encoder(nn.Module):
    def forward(self, x: Tensor, reverse: bool = False) -> Tensor:
        return torch.flip(x, [0]) if reverse else x  # error[control-flow]: reverse


class FixedEncoder(Encoder):
    pass


torch.fx.symbolic_trace(Encoder())
torch.fx.symbolic_trace(FixedEncoder(), concrete_args={"reverse": True})
