"""New values in the place of old ones are recorded."""

import torch
from torch import Tensor, nn


class Replaced(nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x.masked_fill(mask, 0.0)
        x = torch.slice_scatter(x, x[:, :1], 1, 1, 2)
        parts = {}
        parts["mean"] = x.mean()
        return x + parts["mean"]
