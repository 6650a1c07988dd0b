"""Leaves Python without a word."""

# expect crash: exited with status 0

import os

import torch

os._exit(0)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
