"""A module that makes a folder for its runs and asks git for the version, and can do without both."""

import subprocess
from pathlib import Path

import torch
from torch import nn

try:
    Path("/var/lib/experiments").mkdir()  # information[denied]: Path("/var/lib/experiments").mkdir()
except OSError:
    RUNS = None


def version() -> str:
    try:
        # information[denied]: subprocess.check_output(["git", "describe"], text=True)
        return subprocess.check_output(["git", "describe"], text=True)
    except OSError:
        return "unknown"


class Head(nn.Module):
    """A classifier that knows which version made it."""

    def __init__(self) -> None:
        super().__init__()
        self.version = version()
        self.weight = nn.Parameter(torch.zeros(8, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ self.weight, -1)
