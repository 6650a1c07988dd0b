"""``reversed`` asks for the length first."""

import torch
import torch.fx


def last_first(x: torch.Tensor) -> torch.Tensor:
    last: torch.Tensor = next(reversed(x))  # error[len]: reversed(x)
    return last


torch.fx.symbolic_trace(last_first)
