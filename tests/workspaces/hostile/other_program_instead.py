"""Becomes another program."""

# expect denied: starting a process

import os

import torch

os.execv("/bin/sleep", ["sleep", "1000"])


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
