"""Calls itself for ever."""

# expect exception: RecursionError

import torch


def again(x):
    return again(x)


class Net(torch.nn.Module):
    def forward(self, x):
        again(x)
        return x.relu()
