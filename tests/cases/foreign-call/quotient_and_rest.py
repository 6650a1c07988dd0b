"""A builtin that knows only numbers, and a text that is put together."""

import torch.fx
from torch import Tensor


def windows(x: Tensor) -> Tensor:
    count, rest = divmod(x.shape[-1], 7)  # error[foreign-call]: divmod(x.shape[-1], 7)
    return x * count + rest


torch.fx.symbolic_trace(windows)
