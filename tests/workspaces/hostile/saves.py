"""Saves weights over a file of the user's."""

# expect denied: writing to

from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
torch.save({}, CANARY / "kept.txt")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
