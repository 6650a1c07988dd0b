"""A method of the module is a function, too."""

import torch
from torch import Tensor, nn


class OwnMethod(nn.Module):
    def twice(self, x: Tensor) -> Tensor:
        return x + x

    def forward(self, x: Tensor) -> Tensor:
        # error[higher-order]: torch.ops.higher_order.strict_mode(self.twice, (x,))
        out: Tensor = torch.ops.higher_order.strict_mode(self.twice, (x,))
        return out
