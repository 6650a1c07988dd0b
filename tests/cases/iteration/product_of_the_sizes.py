"""Builtins that go over a shape."""

import torch.fx
from torch import Tensor


def elements(x: Tensor) -> Tensor:
    total = sum(x.shape)  # error[iteration]: sum(x.shape)
    sizes = list(x.shape)  # error[iteration]: list(x.shape)
    return x / total / sizes[0]


torch.fx.symbolic_trace(elements)
