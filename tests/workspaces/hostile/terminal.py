"""Runs a program in a terminal of its own."""

# expect denied: starting a process

import pty

import torch

pty.spawn(["sleep", "1000"])


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
