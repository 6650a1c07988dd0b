"""Writes to every open file what would run a program where it is unpickled."""

# expect crash: ended the tracing process

import contextlib
import os
import pickle
import struct
from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary" / "kept.txt"


class Program:
    def __reduce__(self):
        return os.system, (f"echo caught > '{CANARY}'",)


body = pickle.dumps(Program())
for descriptor in range(3, 256):
    with contextlib.suppress(OSError):
        os.write(descriptor, struct.pack(">I", len(body)) + body)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
