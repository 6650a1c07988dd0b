"""Loops for ever in a forward."""

# expect time-limit: longer than

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        while True:
            pass
        return x.relu()
