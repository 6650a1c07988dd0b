"""Gives up where there is no GPU."""
# Net: traced
# import: definitions-only

import sys

import torch
from torch import nn

if not torch.cuda.is_available():
    print("This needs a GPU.")
    sys.exit(1)

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)
