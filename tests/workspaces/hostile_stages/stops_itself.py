"""A constructor after which the process stops as soon as it forks."""

import os
import signal

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGSTOP))

    def forward(self, x):
        return x / len(x)
