"""A type that is asserted."""

import torch
from torch import Tensor, nn


class Typed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert torch.is_tensor(x)  # error[exception]: assert torch.is_tensor(x)
        return x
