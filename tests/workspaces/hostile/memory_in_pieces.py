"""Takes all memory, piece by piece."""

# expect memory-limit: more memory

import torch

pages = []
while True:
    pages.append(bytearray(1 << 24))


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
