"""Loops for ever in Python."""

# expect definitions-only: longer than

import torch

while True:
    pass


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
