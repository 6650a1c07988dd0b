"""What does not depend on the inputs can be decided by."""

import torch
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, norm: bool = True) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8) if norm else None
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        if self.norm is not None and self.linear.weight.requires_grad_ is not None:
            x = self.norm(x)
        torch._assert(x.dim() == 3, "a batch of sequences")  # type: ignore[no-untyped-call]
        return torch.where(x.sum() > 0, x, -x)
