"""An unpacking that takes whatever is left."""

import torch.fx
from torch import Tensor


def batch_and_sizes(x: Tensor) -> Tensor:
    batch, *sizes = x.shape  # error[iteration]: batch, *sizes
    return x.reshape((batch, -1)) * sizes[0]


torch.fx.symbolic_trace(batch_and_sizes)
