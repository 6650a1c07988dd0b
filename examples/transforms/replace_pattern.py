"""Find and replace for graphs: both sides are written as plain functions."""

import torch
from torch import nn

import fxcore


class TwoSums(nn.Module):
    def forward(self, x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor) -> torch.Tensor:
        m1 = torch.cat([w1, w2]).sum()
        m2 = torch.cat([w1, w2]).sum()
        return x + torch.max(m1) + torch.max(m2)


def pattern(w1: torch.Tensor, w2: torch.Tensor) -> torch.Tensor:
    return torch.cat([w1, w2]).sum()


def replacement(w1: torch.Tensor, w2: torch.Tensor) -> torch.Tensor:
    return torch.stack([w1, w2])


traced = fxcore.symbolic_trace(TwoSums())
matches = fxcore.replace_pattern(traced, pattern, replacement)
print(len(matches), "matches")
print(traced.code)
