"""A module at the top level of the file, called by a function."""

import torch.fx
from torch import Tensor, nn

NORM = nn.LayerNorm(8)


def normalized(x: Tensor) -> Tensor:
    out: Tensor = NORM(x)  # error[not-a-submodule]: NORM(x)
    return out


torch.fx.symbolic_trace(normalized)
