"""Takes from files that were not copied along."""
# Net: traced
# Loss: unchecked
# import: missing-package

import sys

sys.path.append("..")

import torch
from torch import nn
from utils_that_are_missing.losses import focal

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.inner = nn.Linear(3, width)

    def forward(self, x):
        return torch.relu(self.inner(x))


class Loss(nn.Module):
    def forward(self, x, y):
        return focal(x, y)
