"""Raises exceptions that are each other's cause."""

# expect import: second

import torch

first, second = ValueError("first"), ValueError("second")
first.__cause__ = second
second.__cause__ = first
raise second


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
