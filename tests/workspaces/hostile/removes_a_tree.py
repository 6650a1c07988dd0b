"""Removes a folder of the user's."""

# expect denied: writing to

import shutil
from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
shutil.rmtree(CANARY)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
