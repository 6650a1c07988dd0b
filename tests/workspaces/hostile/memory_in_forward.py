"""Takes all memory in a forward."""

# expect memory-limit: more memory

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        pages = []
        while True:
            pages.append(bytearray(1 << 24))
        return x.relu()
