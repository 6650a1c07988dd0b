"""Asks before it begins."""
# Net: traced
# import: definitions-only

import torch
from torch import nn

name = input("Which experiment? ")

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


print(f"{name}: {sum(p.numel() for p in Net().parameters())} parameters")
