"""Uses up the stack in C."""

# expect crash: SIGSEGV

import sys

import torch

sys.setrecursionlimit(10**9)
nested = []
for _ in range(10**5):
    nested = [nested]
repr(nested)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
