"""A constructor after which no function can be found in memory."""

import gc

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        gc.get_objects = lambda *given: []

    def forward(self, x):
        return x / len(x)
