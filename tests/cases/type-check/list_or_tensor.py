"""Inputs that may be a tensor or several, as backbones take them."""
# mypy: no-warn-unreachable

import torch
from torch import Tensor, nn


class Backbone(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if isinstance(x, Tensor):  # warning[type-check]: isinstance(x, Tensor)
            x = x.relu()
        if not torch.is_tensor(x):  # warning[type-check]: torch.is_tensor(x)
            x = x[0]
        if isinstance(x.shape[0], int):  # warning[type-check]: isinstance(x.shape[0], int)
            x = x + 1
        return x


class Neck(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if isinstance(x, (list, tuple)):
            x = torch.cat(x)
        if isinstance(x, nn.Parameter):
            x = x.detach()
        if isinstance(self, nn.Module):
            x = x + 1
        return x
