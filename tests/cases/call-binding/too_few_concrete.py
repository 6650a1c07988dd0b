"""A tuple of concrete arguments that is too short."""

import torch.fx
from torch import Tensor


def scale(x: Tensor, factor: float) -> Tensor:
    return x * factor


# error[call-binding]: torch.fx.symbolic_trace(scale, concrete_args=(2.0,))
torch.fx.symbolic_trace(scale, concrete_args=(2.0,))  # type: ignore[arg-type]
