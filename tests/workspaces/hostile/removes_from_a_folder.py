"""Removes a file by its open folder."""

# expect denied: writing to

import os
from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
folder = os.open(CANARY, os.O_RDONLY)
os.unlink("kept.txt", dir_fd=folder)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
