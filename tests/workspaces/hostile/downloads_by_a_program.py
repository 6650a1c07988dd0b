"""Has a program download a file."""

# expect denied: starting a process

import subprocess

import torch

subprocess.check_output(["curl", "http://127.0.0.1:9/"])


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
