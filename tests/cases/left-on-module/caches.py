"""What forwards keep for later."""

from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []
        self.cache: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        self.weights = x.softmax(-1)  # warning[left-on-module]: self.weights
        self.seen.append(x)  # warning[left-on-module]: self.seen
        self.cache["bias"] = x + 1  # warning[left-on-module]: self.cache
        return self.weights * x


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.sizes = [[1], [2, 3]]

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.x = x
        y = self.x + self.sizes[0][0]
        del self.x
        return y
