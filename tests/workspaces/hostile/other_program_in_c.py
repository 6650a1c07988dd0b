"""Becomes another program without asking Python."""

# expect nothing
# needs seccomp

import ctypes

import torch

LIBC = ctypes.CDLL(None)


class Net(torch.nn.Module):
    def forward(self, x):
        LIBC.execl(b"/bin/sleep", b"sleep", b"1000", None)
        return x.relu()
