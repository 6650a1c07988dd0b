"""Layers that need groups, which the program sets up before it builds models."""
# Parallel: traced
# Reset: not-built

import torch.distributed as dist
from torch import nn

_GROUP = None
_SIZE = None
_NEVER_SET = None


def initialize_model_parallel(size, pipeline_size=None):
    assert dist.is_initialized()
    global _GROUP, _SIZE
    _GROUP = dist.new_group(list(range(size)))
    _SIZE = size


def destroy_model_parallel():
    global _GROUP, _NEVER_SET
    _GROUP = _NEVER_SET = None


def group():
    assert _GROUP is not None, "the model parallel group is not initialized"
    return _GROUP


class Parallel(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer = nn.Linear(width, width // dist.get_world_size(group()))

    def forward(self, x):
        return self.layer(x)


class Reset(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        assert _NEVER_SET is not None
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)
