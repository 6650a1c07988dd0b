"""Takes all memory for a tensor."""

# expect definitions-only: too much memory

import torch

torch.arange(1 << 40)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
