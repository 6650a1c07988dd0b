"""Has something done when Python ends."""

# expect nothing

import atexit
import time

import torch

atexit.register(time.sleep, 1000)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
