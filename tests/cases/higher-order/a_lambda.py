"""A lambda."""

import torch
import torch.fx
from torch import Tensor


def run_lambda(x: Tensor) -> Tensor:
    # error[higher-order]: torch.ops.higher_order.strict_mode(lambda y: y + 1, (x,))
    out: Tensor = torch.ops.higher_order.strict_mode(lambda y: y + 1, (x,))
    return out


torch.fx.symbolic_trace(run_lambda)
