"""Choices by a table, as resizing and mixed precision have them."""

import torch
from torch import Tensor, nn

SCALES = {224: 1.0, 448: 2.0}


class Resize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.dtype in {torch.float16, torch.bfloat16}:  # warning[lookup]: x.dtype in {torch.float16, torch.bfloat16}
            x = x.float()
        if x.shape[-1] not in SCALES:  # warning[lookup]: x.shape[-1] not in SCALES
            x = x + 1
        return x * SCALES.get(x.shape[-1], 1.0)  # warning[lookup]: SCALES.get(x.shape[-1], 1.0)


class Scale(nn.Module):
    size = 224

    def forward(self, x: Tensor) -> Tensor:
        if self.size in SCALES:
            x = x * SCALES[self.size]
        kept = {x: 1}
        if "weight" in dict(self.named_parameters()):
            x = x + 1
        return x * kept[x]
