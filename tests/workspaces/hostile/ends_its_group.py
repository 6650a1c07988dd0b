"""Ends all processes of its group."""

# expect denied: signaling

import os
import signal

import torch

os.killpg(0, signal.SIGKILL)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
