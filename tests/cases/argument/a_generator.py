"""A generator that is handed on."""

import torch.fx
from torch import Tensor


def joined(x: Tensor) -> Tensor:
    # error[argument]: x.index_add(0, (index for index in (0, 1)), x)
    return x.index_add(0, (index for index in (0, 1)), x)  # type: ignore[arg-type]


torch.fx.symbolic_trace(joined)
