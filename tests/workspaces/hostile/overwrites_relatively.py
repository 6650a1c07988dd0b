"""Overwrites a file that lies in the workspace folder."""

# expect denied: writing to

from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
Path("canary", "kept.txt").write_text("gone")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
