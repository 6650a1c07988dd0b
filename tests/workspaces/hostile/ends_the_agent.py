"""Ends the leader of its session."""

# expect denied: signaling

import os
import signal

import torch

os.kill(os.getsid(0), signal.SIGKILL)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
