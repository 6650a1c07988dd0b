"""Closes every open file."""

# expect crash: ended the tracing process

import os

import torch

os.closerange(0, 4096)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
