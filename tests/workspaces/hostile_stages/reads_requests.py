"""A constructor after which the process's requests go to a thread of the user's code."""

import os
import threading

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for fd in range(3, 40):
            threading.Thread(target=read, args=(fd,), daemon=True).start()

    def forward(self, x):
        return x / len(x)


def read(fd):
    try:
        while os.read(fd, 1 << 16):
            pass
    except OSError:
        pass
