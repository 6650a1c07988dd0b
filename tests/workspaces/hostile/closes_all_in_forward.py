"""Closes every open file in a forward."""

# expect crash: ended the tracing process

import os

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        os.closerange(0, 4096)
        return x.relu()
