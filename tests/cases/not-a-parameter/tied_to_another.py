"""A weight of a module that is not part of this one."""

from torch import Tensor, nn


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source = [nn.Embedding(16, 8)]

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.source[0].weight  # error[not-a-parameter]: x @ self.source[0].weight
