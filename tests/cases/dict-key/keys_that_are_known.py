"""Keys that are numbers and texts."""

from torch import Tensor, nn


class Named(nn.Module):
    def forward(self, x: Tensor) -> dict[object, Tensor]:
        return {0: x, "half": x[..., ::2], (1, 2): x + 1}
