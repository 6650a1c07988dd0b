"""Overwrites a file of the user's behind a link of its own."""

# expect denied: writing to

from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
Path("link").symlink_to(CANARY)
Path("link", "kept.txt").write_text("gone")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
