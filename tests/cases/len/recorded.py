"""A length whose call is recorded, in each of the ways to say so."""

import torch
import torch.fx
from torch.fx import wrap

wrap("len")


@torch.fx.wrap
def count(x: torch.Tensor) -> int:
    return len(x)


def mean(x: torch.Tensor) -> torch.Tensor:
    return x.sum() / len(x) + count(x)


torch.fx.symbolic_trace(mean)
