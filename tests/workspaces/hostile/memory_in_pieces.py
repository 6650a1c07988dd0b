"""Takes all memory, piece by piece."""

# expect definitions-only: too much memory

import torch

pages = []
while True:
    pages.append(bytearray(1 << 24))


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
