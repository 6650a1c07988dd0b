"""Exported from a notebook."""
# Net: traced
# import: import

get_ipython().run_line_magic("matplotlib", "inline")

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


x = torch.linspace(-1, 1, 8)
x
