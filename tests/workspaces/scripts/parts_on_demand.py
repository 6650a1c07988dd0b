"""Constructors that create a part only if an argument asks for it, which the default does not, and forwards that use it."""
# Counted: traced
# Flagged: failed control-flow
# Nested: traced
# Never: failed exception

import torch
from torch import nn


class Counted(nn.Module):
    def __init__(self, width, groups=0):
        super().__init__()
        self.layer = nn.Linear(width, width)
        if groups != 0:
            self.condition = nn.Linear(groups, width)

    def forward(self, x, given):
        return self.layer(x) + self.condition(given)


class Flagged(nn.Module):
    def __init__(self, width, is_gated=False):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.is_gated = is_gated
        if self.is_gated:
            self.gate = nn.Linear(width, 1)

    def forward(self, x):
        x = self.layer(x) * torch.sigmoid(self.gate(x))
        return x if x.sum() > 0 else -x


class Nested(nn.Module):
    def __init__(self, width, kind="plain", steps=None):
        super().__init__()
        self.layer = nn.Linear(width, width)
        if kind == "plain":
            if steps is not None:
                self.embedding = nn.Embedding(steps, width)
        else:
            self.head = nn.Linear(width, width)

    def forward(self, x, step):
        return self.layer(x) + self.embedding(step)


class Never(nn.Module):
    def __init__(self, width, is_gated=False):
        super().__init__()
        self.layer = nn.Linear(width, width)
        if is_gated:
            self.gate = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x) * self.scale
