"""``reversed`` asks for the length first."""

import torch
import torch.fx


def last_first(x: torch.Tensor) -> torch.Tensor:
    return torch.stack(list(reversed(x)))  # error[len]: reversed(x)


torch.fx.symbolic_trace(last_first)
