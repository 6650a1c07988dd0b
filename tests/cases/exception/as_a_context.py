"""A value that is no context."""

from typing import Any

import torch.fx
from torch import Tensor


def timed(x: Tensor, timer: Any) -> Tensor:
    with timer:  # error[exception]: timer
        return x * 2


torch.fx.symbolic_trace(timed)
