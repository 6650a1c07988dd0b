"""Replaces what everybody uses."""

# expect crash: ended the tracing process

import builtins

import torch


def refuse(*args, **kwargs):
    raise ValueError("no")


builtins.isinstance = refuse
builtins.len = refuse
builtins.__import__ = refuse


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
