"""Positions that are cut to the length of the input."""

import torch
from torch import Tensor, nn


class Positions(nn.Module):
    def __init__(self, longest: int = 512) -> None:
        super().__init__()
        self.register_buffer("ids", torch.arange(longest).expand(1, -1))
        self.ids: Tensor
        self.table = nn.Embedding(longest, 16)

    def forward(self, tokens: Tensor) -> Tensor:
        ids = self.ids[:, : tokens.shape[1]]  # error[conversion]: self.ids[:, : tokens.shape[1]]
        positions: Tensor = self.table(ids)
        return positions
