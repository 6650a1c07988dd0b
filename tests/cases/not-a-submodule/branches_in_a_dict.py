"""Heads that are kept in a plain dict."""

from torch import Tensor, nn


class MultiTask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = {"depth": nn.Linear(8, 1), "normal": nn.Linear(8, 3)}

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {name: head(x) for name, head in self.heads.items()}  # error[not-a-submodule]: head(x)
