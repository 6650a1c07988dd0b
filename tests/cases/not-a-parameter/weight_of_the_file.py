"""A parameter at the top level of the file."""

import torch
import torch.fx
import torch.nn.functional as F
from torch import Tensor, nn

WEIGHT = nn.Parameter(torch.ones(4, 4))


def project(x: Tensor) -> Tensor:
    return F.linear(x, WEIGHT)  # error[not-a-parameter]: F.linear(x, WEIGHT)


torch.fx.symbolic_trace(project)
