"""Two things that trace once their fixes are applied."""

from math import sqrt

import torch
import torch.fx


def normalize(x: torch.Tensor) -> torch.Tensor:
    return x / sqrt(len(x))


def padded(x: torch.Tensor) -> torch.Tensor:
    missing = -x.shape[1] % 8
    if missing > 0:
        x = torch.nn.functional.pad(x, (0, missing))
    return x


class Pad(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return padded(x) * 2


traced = [torch.fx.symbolic_trace(normalize), torch.fx.symbolic_trace(Pad())]
