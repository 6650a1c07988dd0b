"""A partly applied function."""

import functools

import torch
import torch.fx
from torch import Tensor


def scaled(factor: float, x: Tensor) -> Tensor:
    return factor * x


def run(x: Tensor) -> Tensor:
    double = functools.partial(scaled, 2.0)
    # error[higher-order]: torch.ops.higher_order.strict_mode(double, (x,))
    out: Tensor = torch.ops.higher_order.strict_mode(double, (x,))
    return out


torch.fx.symbolic_trace(run)
