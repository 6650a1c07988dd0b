"""A constructor that leaves a process behind, made by the C library."""

import ctypes
import time

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if ctypes.CDLL(None).fork() == 0:
            time.sleep(1000)

    def forward(self, x):
        return x / len(x)
