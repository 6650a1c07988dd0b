"""Lifts the limit of its memory."""

# expect denied: raising a resource limit

import resource

import torch

resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
