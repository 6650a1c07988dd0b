"""Rows that are collected in a list."""

import torch
import torch.fx
from torch import Tensor


def standardized(x: Tensor) -> Tensor:
    found: list[Tensor] = []
    for row in x:  # error[iteration]: x
        found.append((row - row.mean()) / row.std())
    return torch.stack(found)


torch.fx.symbolic_trace(standardized)
