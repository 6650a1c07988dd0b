"""Moves a file of the user's to where it may write."""

# expect denied: writing to

from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
(CANARY / "kept.txt").rename("mine.txt")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
