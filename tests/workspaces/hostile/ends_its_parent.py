"""Ends the process that it was started by."""

# expect denied: signaling

import os
import signal

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        os.kill(os.getppid(), signal.SIGKILL)
        return x.relu()
