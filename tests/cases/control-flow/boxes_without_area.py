"""A check of the inputs that looks for what to say first, as detectors have it."""

import torch
import torch.fx
from torch import Tensor


def clip(boxes: Tensor) -> Tensor:
    degenerate = boxes[:, 2:] <= boxes[:, :2]
    if degenerate.any():  # error[control-flow]: degenerate.any()
        first = torch.where(degenerate.any(dim=1))[0][0]
        raise ValueError(f"box {first} has no area")
    return boxes.clamp(min=0)


torch.fx.symbolic_trace(clip)
