"""A flag that is given alone, where a tuple has to name every parameter."""

import torch.fx
from torch import Tensor, nn


class Pool(nn.Module):
    def forward(self, x: Tensor, mean: bool) -> Tensor:
        return x.mean((2, 3)) if mean else x.amax((2, 3))


# error[call-binding]: torch.fx.symbolic_trace(Pool(), concrete_args=(True,))
torch.fx.symbolic_trace(Pool(), concrete_args=(True,))  # type: ignore[arg-type]
