"""Modules that are registered, in each of the ways to do so."""

from torch import Tensor, nn


class Registered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()
        self.layers = nn.ModuleList([nn.Linear(4, 4)])
        self.heads = nn.ModuleDict({"score": nn.Linear(4, 1)})

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.heads["score"](self.act(self.layers[0](x)))
        return out
