"""Runs a shell."""

# expect denied: starting a process

import os

import torch

os.system("sleep 1000")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
