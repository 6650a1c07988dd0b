"""Empties a file of the user's."""

# expect denied: writing to

import os
from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
os.truncate(CANARY / "kept.txt", 0)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
