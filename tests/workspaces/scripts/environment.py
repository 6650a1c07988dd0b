"""Needs variables and processes that are not there."""
# Net: traced
# model: skipped
# import: import

import os

import torch
import torch.distributed as dist
from torch import nn

rank = int(os.environ["NO_SUCH_RANK"])
dist.init_process_group("gloo", rank=rank, world_size=4)
torch.cuda.set_device(rank)

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


model = nn.parallel.DistributedDataParallel(Net().cuda(rank), device_ids=[rank])
