"""Builtins that compare."""

import torch.fx
from torch import Tensor


def longest_side(x: Tensor, y: Tensor) -> Tensor:
    side = max(x.shape[-1], y.shape[-1])  # error[control-flow]: max(x.shape[-1], y.shape[-1])
    first = sorted([x.mean(), y.mean()])[0]  # error[control-flow]: sorted([x.mean(), y.mean()])
    if any([x.isnan().any(), y.isnan().any()]):  # error[control-flow]: any([x.isnan().any(), y.isnan().any()])
        return first
    return x / side


torch.fx.symbolic_trace(longest_side)
