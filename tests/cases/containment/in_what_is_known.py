"""A search in what is known, for what is known."""

from torch import Tensor, nn


class Chosen(nn.Module):
    def __init__(self, mode: str = "mean") -> None:
        super().__init__()
        self.mode = mode

    def forward(self, x: Tensor) -> Tensor:
        if self.mode in ("mean", "avg"):
            return x.mean()
        return (x == 1).any()
