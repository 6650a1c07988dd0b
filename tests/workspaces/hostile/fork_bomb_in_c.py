"""Forks without asking Python."""

# expect nothing
# needs seccomp

import ctypes
import time

import torch

LIBC = ctypes.CDLL(None)


class Net(torch.nn.Module):
    def forward(self, x):
        for _ in range(64):
            if LIBC.fork() == 0:
                time.sleep(1000)
        return x.relu()
