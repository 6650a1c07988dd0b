"""Overwrites, empties and removes a file without asking Python."""

# expect nothing
# needs landlock-3 seccomp

import ctypes
import os
from pathlib import Path

import torch

KEPT = bytes(Path(__file__).parents[1] / "canary" / "kept.txt")
LIBC = ctypes.CDLL(None)
for _ in [LIBC.open(KEPT, os.O_RDWR | os.O_TRUNC), LIBC.truncate(KEPT, 0), LIBC.chmod(KEPT, 0), LIBC.unlink(KEPT)]:
    pass


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
