"""A scale that is taken out of a tensor."""

from torch import Tensor, nn


class Quantize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        scale = float(x.abs().max())  # error[conversion]: float(x.abs().max())
        return (x / scale).round() * scale
