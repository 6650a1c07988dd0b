"""Ends the process that it was started by, without asking Python."""

# expect nothing
# needs landlock-6

import ctypes
import os

import torch

LIBC = ctypes.CDLL(None)


class Net(torch.nn.Module):
    def forward(self, x):
        LIBC.kill(os.getppid(), 9)
        return x.relu()
