"""Inputs that may carry a mask, as detectors take them."""
# mypy: disable-error-code="misc,no-any-return,operator"

from torch import Tensor, nn


class Encoder(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if hasattr(x, "mask"):  # warning[attribute-check]: hasattr(x, "mask")
            x = x + 1
        y = getattr(x, "tensors", x)  # warning[attribute-check]: getattr(x, "tensors", x)
        bits = getattr(y.data, "bits", 8)  # warning[attribute-check]: getattr(y.data, "bits", 8)
        return x * 2 if hasattr(x.data, "scales") else x * bits  # warning[attribute-check]: hasattr(x.data, "scales")


class Decoder(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if hasattr(x, "shape"):
            x = x + 1
        if hasattr(self, "norm"):
            x = self.norm(x)
        return getattr(x, "float", None)()
