"""Heads that are split by a star-splat of the shape."""

from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.size = width // heads
        self.query = nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        shape = hidden.shape[:-1]
        split = (*shape, -1, self.size)  # error[iteration]: (*shape, -1, self.size)
        queries: Tensor = self.query(hidden)
        return queries.view(split).transpose(1, 2)
