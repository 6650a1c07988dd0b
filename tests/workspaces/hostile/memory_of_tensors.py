"""Takes all memory for a tensor."""

# expect memory-limit: more memory

import torch

torch.arange(1 << 40)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
