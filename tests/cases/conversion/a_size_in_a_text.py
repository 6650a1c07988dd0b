"""Texts with a number's format."""

import torch.fx
from torch import Tensor


def named(x: Tensor) -> tuple[Tensor, str, str]:
    old = format(x.shape[1], "4d")  # error[conversion]: format(x.shape[1], "4d")
    new = f"{x.shape[1]:03d} channels"  # error[conversion]: f"{x.shape[1]:03d} channels"
    return x, old, new


torch.fx.symbolic_trace(named)
