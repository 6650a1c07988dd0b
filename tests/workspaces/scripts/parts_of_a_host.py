"""A part that can't be traced alone, and is traced through in its host."""
# Pyramid: traced on a condition
# Detector: traced
# Branch: traced on a condition
# Gate: traced

import torch
from torch import nn


class Pyramid(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.laterals = nn.ModuleList(nn.Conv2d(width, 8, 1) for width in channels)

    def forward(self, features):
        return sum(lateral(x) for lateral, x in zip(self.laterals, features))


class Branch(nn.Module):
    def __init__(self, parent, scale):
        super().__init__()
        self.norm = nn.BatchNorm2d(parent.width)
        self.scale = scale

    def forward(self, x, enabled):
        return self.norm(x) * self.scale if enabled else x


# fx: concrete_args(closed=False)
class Gate(nn.Module):
    def __init__(self, parent):
        super().__init__()
        self.linear = nn.Linear(parent.width, parent.width)

    def forward(self, x, closed):
        return x if closed else self.linear(x)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 8
        self.gate = Gate(self)
        self.pyramid = Pyramid([3, 3])
        self.branch = Branch(self, 0.5)

    def forward(self, x):
        return self.branch(self.pyramid([x, x * 2]), True)
