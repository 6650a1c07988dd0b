"""Raises an exception with a text of 100 MB."""

# expect import: ValueError

import torch

raise ValueError("x" * 10**8)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
