"""Blocks every signal that can be blocked, and loops."""

# expect time-limit: longer than

import signal

import torch

signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
