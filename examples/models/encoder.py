"""A sequence encoder that works on windows of a fixed size."""

import torch
from torch import Tensor, nn

from .padding import pad_to_multiple


class WindowEncoder(nn.Module):
    """Sequences (batch, length, features), mixed within windows of ``window`` steps."""

    def __init__(self, features: int = 32, window: int = 8) -> None:
        super().__init__()
        self.window = window
        self.mix = nn.Linear(window, window)
        self.norm = nn.LayerNorm(features)

    def forward(self, x: Tensor) -> Tensor:
        # The failure is in the helper; one fix is to record this call instead of tracing into it.
        x = pad_to_multiple(x, self.window)
        windows = x.unflatten(1, (-1, self.window))
        mixed = self.mix(windows.transpose(2, 3)).transpose(2, 3)
        return self.norm(x + torch.relu(mixed).flatten(1, 2))
