"""An operator that a helper uses."""

import torch
from torch import Tensor, nn


def strictly(x: Tensor) -> Tensor:
    # error[higher-order]: torch.ops.higher_order.strict_mode(torch.relu, (x,))
    out: Tensor = torch.ops.higher_order.strict_mode(torch.relu, (x,))
    return out


class Helped(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return strictly(x) + 1
