"""Loops for ever and lets no exception out."""

# expect definitions-only: longer than

import torch

while True:
    try:
        while True:
            pass
    except BaseException:
        pass


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
