"""Starts a program the quick way."""

# expect denied: starting a process

import os

import torch

os.posix_spawn("/bin/sleep", ["sleep", "1000"], os.environ)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
