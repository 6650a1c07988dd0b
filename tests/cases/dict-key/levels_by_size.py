"""Features by their size."""

from torch import Tensor, nn


class Pyramid(nn.Module):
    def forward(self, x: Tensor) -> dict[int, Tensor]:
        # error[dict-key]: return {x.shape[-1]: x, x.shape[-1] // 2: x[..., ::2]}
        return {x.shape[-1]: x, x.shape[-1] // 2: x[..., ::2]}
