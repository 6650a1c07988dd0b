"""Aborts."""

# expect crash: SIGABRT

import os

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        os.abort()
        return x.relu()
