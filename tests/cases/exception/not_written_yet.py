"""A branch that is not written yet."""

from torch import Tensor, nn


class Pooled(nn.Module):
    def __init__(self, mode: str = "lse") -> None:
        super().__init__()
        self.mode = mode

    def forward(self, x: Tensor) -> Tensor:
        if self.mode == "mean":
            return x.mean((2, 3))
        raise NotImplementedError(self.mode)  # error[exception]: raise NotImplementedError(self.mode)
