"""A flag that says later what was done before, as mobile vision transformers have it."""

import torch.fx
from torch import Tensor
from torch.nn import functional as F


def double(x: Tensor) -> Tensor:
    height, width = x.shape[-2:]
    resized = False
    # error[control-flow]: width % 2 != 0
    if height % 2 != 0 or width % 2 != 0:  # error[control-flow]: height % 2 != 0
        x = F.interpolate(x, (height + 1, width + 1))
        resized = True
    x = x * 2
    if resized:
        x = F.interpolate(x, (height, width))
    return x


torch.fx.symbolic_trace(double)
