"""A loop whose end depends on the values."""

import torch.fx
from torch import Tensor


def power_iteration(matrix: Tensor, guess: Tensor) -> Tensor:
    change = guess.norm()
    while change > 1e-6:  # error[control-flow]: change > 1e-6
        new = matrix @ guess
        change = (new - guess).norm()
        guess = new
    return guess


torch.fx.symbolic_trace(power_iteration)
