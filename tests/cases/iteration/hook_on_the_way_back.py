"""A convolution that forgets a cached weight once its gradient is there."""

from typing import Any

from torch import Tensor, nn


class CachedConv(nn.Conv1d):
    def __init__(self, width: int) -> None:
        super().__init__(width, width, 3, padding=1)
        self.register_backward_hook(self.forget)
        self.cached: Tensor | None = None

    def forget(self, *_: Any) -> None:
        self.cached = None


class Highway(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.conv = CachedConv(width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(x)  # error[iteration]: self.conv(x)
        return x + out
