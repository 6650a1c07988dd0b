"""Raises an exception that can't be told."""

# expect import: Mute

import torch


class Mute(Exception):
    def __str__(self):
        raise self


raise Mute


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
