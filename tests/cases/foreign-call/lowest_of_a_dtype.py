"""The lowest number of the input's dtype, as attention masks need it."""

import torch
from torch import Tensor, nn


class Masked(nn.Module):
    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        lowest = torch.finfo(scores.dtype).min  # error[foreign-call]: torch.finfo(scores.dtype)
        return scores.masked_fill(mask, lowest)
