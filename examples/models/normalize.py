"""A function that divides by the square root of its input's length."""

from math import sqrt

import torch
import torch.fx


def normalize(x: torch.Tensor) -> torch.Tensor:
    # math.sqrt is recorded automatically; len is not, because it has to return a plain integer.
    return x / sqrt(len(x))


traced = torch.fx.symbolic_trace(normalize)
