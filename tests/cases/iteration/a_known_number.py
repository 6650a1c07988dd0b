"""What unpacks or counts a fixed number of items is recorded."""

import torch
from torch import Tensor, nn


class Known(nn.Module):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        for layer in self.layers:
            x = layer(x)
        first, second = x.chunk(2, dim=1)
        return torch.cat([first, second], dim=1).flatten(1) * (batch + tokens + width)
