"""Four small heads, each with a condition that depends on its input."""

import torch
import torch.fx
from torch import Tensor, nn
from torch.nn import functional


class ShrinkingHead(nn.Module):
    """Halves feature maps until they are at most ``size`` high."""

    def __init__(self, size: int = 7) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        while x.shape[-2] > self.size:
            x = functional.avg_pool2d(x, kernel_size=2)
        return x.flatten(1)


class CheckedHead(nn.Module):
    """Rejects anything but a batch of feature maps."""

    def forward(self, x: Tensor) -> Tensor:
        assert x.dim() == 4, "feature maps are (batch, channels, height, width)"
        return x.mean(dim=(2, 3))


class SignedHead(nn.Module):
    """Negates its input if the average is negative."""

    def forward(self, x: Tensor) -> Tensor:
        sign = 1.0 if x.mean() >= 0 else -1.0
        return sign * x


class SquareHead(nn.Module):
    """Transposes feature maps that are large and square."""

    def __init__(self, smallest: int) -> None:
        super().__init__()
        self.smallest = smallest

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2], x.shape[-1]
        if height == width and height >= self.smallest:
            x = x.transpose(-2, -1)
        return torch.relu(x)


def main() -> None:
    smallest = 14
    head = SquareHead(smallest)
    # A call that traces tells fx-lsp how to build the module that it traces.
    print(torch.fx.symbolic_trace(head).code)


if __name__ == "__main__":
    main()
