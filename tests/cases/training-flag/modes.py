"""What depends on the mode."""

import torch.nn.functional as F
from torch import Tensor, nn


class Head(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if self.training:  # hint[training-flag]: self.training
            x = x * 2
        x = F.dropout(x, 0.1, self.training)  # hint[training-flag]: self.training
        return x + (1 if not self.training else 2)  # hint[training-flag]: self.training


class Body(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        training = False
        if training:
            x = x * 2
        return F.dropout(self.dropout(x), 0.1, training=False)
