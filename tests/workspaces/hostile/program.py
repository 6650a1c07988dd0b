"""Runs a program."""

# expect denied: starting a process

import subprocess

import torch

subprocess.run(["sleep", "1000"], check=True)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
