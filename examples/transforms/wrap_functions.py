"""Functions that tensors can't intercept, such as ``len``: wrapped ones are recorded as calls."""

from math import sqrt

import torch

import fxcore


def normalize(x: torch.Tensor) -> torch.Tensor:
    """``x`` by the size of its batch."""
    return x / sqrt(len(x))


try:
    fxcore.symbolic_trace(normalize)
except RuntimeError as error:
    print(f"RuntimeError: {error}")

fxcore.wrap("len")
fxcore.wrap("sqrt")
traced = fxcore.symbolic_trace(normalize)
print(traced.code)
print(torch.equal(traced(torch.ones(4, 2)), torch.full((4, 2), 0.5)))
