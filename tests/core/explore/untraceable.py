"""A module in which tracing fails in many ways; here, since pytest rewrites the assertions of test modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Everything(nn.Module):
    def forward(self, x: torch.Tensor, flag: bool = True) -> Any:
        b, c, h, w = x.shape
        if h != w:
            raise ValueError("not square")
        assert c == 3
        if x.sum() > 0 and h > 3:
            x = -x
        zeros = torch.zeros(b, c)
        shape = (*x.shape[:2], -1)
        for i in range(len(x)):
            x = x + i
        x[0] = 1
        while x.mean() > 0:
            x = x - 1
        x = nn.ReLU()(x)
        return x.reshape(shape), zeros, int(h), max(h, w)
