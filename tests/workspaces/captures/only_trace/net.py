import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # expect: fx control-flow error
            return x
        return -x


class Unused(nn.Module):
    def forward(self, x):
        return x / len(x)  # expect: fx len warning


Net()(torch.ones(3, 4))
Unused()(torch.ones(3, 4))
