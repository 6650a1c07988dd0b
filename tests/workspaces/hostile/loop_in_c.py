"""Loops for ever in C, where no signal interrupts it."""

# expect time-limit: longer than

import itertools

import torch

sum(itertools.repeat(0))


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
