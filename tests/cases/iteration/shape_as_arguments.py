"""Sizes that are handed on one by one."""

from torch import Tensor, nn


class SplitHeads(nn.Module):
    def __init__(self, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.heads, -1)  # error[iteration]: x.view(*x.shape[:-1], self.heads, -1)
