"""Constructors that need a process group, and one that asks whether there is one."""
# Needs: traced
# Asks: failed control-flow

import torch.distributed as dist
from torch import nn


class Needs(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer = nn.Linear(width, width // dist.get_world_size())

    def forward(self, x):
        return self.layer(x)


class Asks(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.is_alone = not dist.is_initialized()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        if self.is_alone and x.sum() > 0:
            return x
        return self.layer(x)
