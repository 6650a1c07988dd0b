"""A script trains in a function that it calls at its top level, for longer than an import may take."""
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


def show_an_example():
    net = Net()
    while True:
        net(torch.ones(1, 3))


show_an_example()


class Other(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
