"""Prints a million lines."""

# expect nothing

import torch

for thousand in range(1000):
    print("\n".join(map(str, range(1000 * thousand, 1000 * thousand + 1000))))


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
