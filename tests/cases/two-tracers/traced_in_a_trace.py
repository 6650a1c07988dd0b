"""A function that is traced while its user is."""

import torch
import torch.fx
from torch import Tensor


def shifted(x: Tensor) -> Tensor:
    inner = torch.fx.symbolic_trace(lambda y: torch.add(y, x))  # error[two-tracers]: torch.add(y, x)
    out: Tensor = inner(x)
    return out


torch.fx.symbolic_trace(shifted)
