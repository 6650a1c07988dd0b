"""A constructor reads the file that its default names, which lies elsewhere in the workspace."""
# Net: traced
# Branches: failed control-flow

import json

from torch import nn


class Net(nn.Module):
    def __init__(self, cfg="small_net.json"):
        super().__init__()
        with open(cfg) as file:
            widths = json.load(file)["widths"]
        self.layers = nn.Sequential(*(nn.Linear(a, b) for a, b in zip(widths, widths[1:])))

    def forward(self, x):
        return self.layers(x)


class Branches(Net):
    def forward(self, x):
        y = super().forward(x)
        return y if y.sum() > 0 else x
