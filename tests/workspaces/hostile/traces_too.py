"""Follows every line that Python runs, and raises."""

# expect nothing

import sys

import torch


def follow(frame, event, argument):
    return follow if event != "line" else None


sys.settrace(follow)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
