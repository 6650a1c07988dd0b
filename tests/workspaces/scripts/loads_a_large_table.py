"""A script fills more memory than a trace may use, at its top level."""
# Net: traced
# Other: failed control-flow
# import: definitions-only

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)


def read_table():
    return torch.arange(1 << 40)


table = read_table()


class Other(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
