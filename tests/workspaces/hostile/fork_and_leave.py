"""Forks without asking Python, and its children leave the group."""

# expect nothing

import ctypes
import time

import torch

LIBC = ctypes.CDLL(None)
for _ in range(8):
    if LIBC.fork() == 0:
        LIBC.setsid()
        time.sleep(1000)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
