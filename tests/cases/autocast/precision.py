"""Blocks in another precision."""
# mypy: disable-error-code="no-any-return,untyped-decorator"

import torch
from torch import Tensor, nn


@torch.autocast("cpu", dtype=torch.bfloat16)
def product(x: Tensor) -> Tensor:
    return x @ x


class Energy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):  # information[autocast]: torch.autocast("cpu", enabled=False)
            x = x @ x
        with torch.amp.autocast("cpu"):  # information[autocast]: torch.amp.autocast("cpu")
            x = x @ x
        return product(x)  # information[autocast]: product(x)


class Single(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu"):
            factor = 2
        if torch.is_autocast_enabled("cpu"):
            x = x + 1
        return x.float() * factor
