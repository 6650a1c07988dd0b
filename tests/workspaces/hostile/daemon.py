"""Forks twice, so that nobody knows its parent."""

# expect nothing

import ctypes
import os
import time

import torch

LIBC = ctypes.CDLL(None)
if LIBC.fork() == 0:
    LIBC.setsid()
    if LIBC.fork() != 0:
        os._exit(0)
    time.sleep(1000)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
