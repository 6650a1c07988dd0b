"""A function as the argument of a method."""

import torch.fx
from torch import Tensor


def double(value: float) -> float:
    return 2 * value


def mapped(x: Tensor) -> Tensor:
    return x.apply_(double)  # error[argument]: x.apply_(double)


torch.fx.symbolic_trace(mapped)
