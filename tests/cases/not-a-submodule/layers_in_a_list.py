"""Layers that are kept in a plain list."""

from torch import Tensor, nn


class Stacked(nn.Module):
    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(depth)]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)  # error[not-a-submodule]: layer(x)
        return x
