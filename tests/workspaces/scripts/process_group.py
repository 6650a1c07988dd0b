"""Constructors that need a process group or what its launcher sets, and one that asks whether there is one."""
# Needs: traced
# Asks: failed control-flow
# Launched: traced
# Grouped: traced
# Meshed: traced

import os

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh


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


class Launched(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.rank = int(os.environ["LOCAL_RANK"])
        self.layer = nn.Linear(width, width // int(os.environ["WORLD_SIZE"]))

    def forward(self, x):
        return self.layer(x) + self.rank


class Grouped(nn.Module):
    def __init__(self, width: int, group: dist.ProcessGroup):
        super().__init__()
        self.layer = nn.Linear(width, width // group.size())

    def forward(self, x):
        return self.layer(x)


class Meshed(nn.Module):
    def __init__(self, width: int, mesh: DeviceMesh):
        super().__init__()
        self.layer = nn.Linear(width, width // mesh.size())

    def forward(self, x):
        return self.layer(x)
