"""A tensor that is made of a tensor."""

import torch
import torch.fx
from torch import Tensor


def copied(x: Tensor) -> Tensor:
    return torch.tensor(x)  # error[foreign-call]: torch.tensor(x)


torch.fx.symbolic_trace(copied)
