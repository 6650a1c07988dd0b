"""A mask that may be empty, in a loop that runs over layers that are known."""

from torch import Tensor, nn


class Stack(nn.Module):
    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layers:
            if not mask.any():  # error[control-flow]: mask.any()
                continue
            x = layer(x).masked_fill(mask, 0.0)
        return x
