"""Ends every process that there is, without asking Python."""

# expect nothing
# needs landlock-6

import ctypes
import os

import torch

LIBC = ctypes.CDLL(None)
for pid in {os.getppid(), os.getsid(0)}:
    LIBC.kill(pid, 9)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
