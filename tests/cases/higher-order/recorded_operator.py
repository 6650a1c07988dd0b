"""The operator in a function whose call is recorded."""

import torch
import torch.fx
from torch import Tensor


def double(x: Tensor) -> Tensor:
    return x + x


@torch.fx.wrap
def strictly_doubled(x: Tensor) -> Tensor:
    out: Tensor = torch.ops.higher_order.strict_mode(double, (x,))
    return out


def outer(x: Tensor) -> Tensor:
    return strictly_doubled(x) + double(x)


torch.fx.symbolic_trace(outer)
