"""Forks until nothing else runs."""

# expect denied: starting a process

import os

import torch

while True:
    os.fork()


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
