"""An attribute that the module does not have."""

from torch import Tensor, nn


class Headless(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        # error[exception]: self.head
        out: Tensor = self.head(x)  # type: ignore[operator]
        return out
