"""Loops for ever in C in a forward."""

# expect time-limit: longer than

import itertools

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        sum(itertools.repeat(0))
        return x.relu()
