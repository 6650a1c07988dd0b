"""An attention that divides by a NumPy square root."""

import numpy as np
import torch
from torch import Tensor, nn


class Scores(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.width = width
        self.scale = 1 / np.sqrt(width)
        self.plain = float(np.sqrt(width))

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        scores = query @ key.mT
        scores = scores / np.sqrt(self.width)  # warning[numpy-number]: scores / np.sqrt(self.width)
        scores = torch.mul(scores, self.scale)  # warning[numpy-number]: torch.mul(scores, self.scale)
        return scores / self.plain + int(np.ceil(0.5))
