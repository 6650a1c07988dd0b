"""Makes a socket without asking Python."""

# expect nothing
# needs seccomp

import ctypes

import torch

LIBC = ctypes.CDLL(None)
if LIBC.socket(2, 1, 0) >= 0:
    raise RuntimeError("there is a socket")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
