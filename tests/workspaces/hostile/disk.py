"""Fills the disk."""

# expect import: File too large

from pathlib import Path

import torch

with Path("fill").open("wb") as file:
    file.truncate(1 << 50)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
