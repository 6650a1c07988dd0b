"""A constructor after which each garbage collection takes longer than there is time."""

import gc

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        gc.callbacks.append(lambda phase, info: sum(range(10**8)))

    def forward(self, x):
        return x / len(x)
