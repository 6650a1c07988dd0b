"""Takes all memory at once."""

# expect definitions-only: too much memory

import torch

text = "x" * (1 << 42)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
