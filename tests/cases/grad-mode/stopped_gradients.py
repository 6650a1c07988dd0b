"""Parts without gradients."""

import torch
from torch import Tensor, nn


@torch.no_grad()
def mean_of(x: Tensor) -> Tensor:
    return x.mean()


class Centred(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():  # hint[grad-mode]: torch.no_grad()
            mean = x.mean()
        with torch.set_grad_enabled(True):  # hint[grad-mode]: torch.set_grad_enabled(True)
            x = x - mean
        return x - mean_of(x)  # hint[grad-mode]: mean_of(x)


class Detached(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            factor = 2
        if torch.is_grad_enabled():
            x = x + 1
        return x - x.mean().detach() * factor
