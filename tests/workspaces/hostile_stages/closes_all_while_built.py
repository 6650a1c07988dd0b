"""A constructor that closes every pipe."""

import os

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        os.closerange(3, 1000)

    def forward(self, x):
        return x / len(x)
