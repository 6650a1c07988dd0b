"""Whether a shape has a size of 1."""

import torch.fx
from torch import Tensor


def squeezed(x: Tensor) -> Tensor:
    return x.squeeze() if 1 in x.shape else x  # error[containment]: 1 in x.shape


torch.fx.symbolic_trace(squeezed)
