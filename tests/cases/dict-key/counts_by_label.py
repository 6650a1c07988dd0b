"""A table whose keys are inputs."""

import torch.fx
from torch import Tensor


def counted(labels: Tensor, counts: Tensor) -> dict[Tensor, Tensor]:
    return {labels: counts}  # error[dict-key]: return {labels: counts}


torch.fx.symbolic_trace(counted)
