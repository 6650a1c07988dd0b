"""A branch whose sides call a layer: attention over windows, which needs no padding where one covers all."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class WindowBlock(nn.Module):
    def __init__(self, channels: int = 8, window: int = 4) -> None:
        super().__init__()
        self.window = window
        self.attention = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[1:3]
        # information[control-flow]: width == self.window
        if height == self.window and width == self.window:  # error[control-flow]: height == self.window
            y: Tensor = self.attention(x)
        else:
            x = F.pad(x, (0, 0, 0, -width % self.window, 0, -height % self.window))
            y = self.attention(x)[:, :height, :width]
        return torch.relu(y)
