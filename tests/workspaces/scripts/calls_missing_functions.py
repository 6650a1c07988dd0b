"""Functions of a package that is not installed are called on traced values; what else fails is said all the same."""
# Through: unchecked
# Fails: failed control-flow
# Counts: unchecked
# Table: traced on a condition
# TableFails: failed conversion
# Optional: traced on a condition
# import: missing-package

import torch
from torch import nn
from rearranging_that_is_missing import ACTIVATIONS, rearrange


class Through(nn.Module):
    def forward(self, x):
        return rearrange(x, "b c -> c b") + 1


class Fails(nn.Module):
    def forward(self, x):
        y = rearrange(x, "b c -> c b")
        if x.sum() > 0:
            y = y + 1
        return y


class Counts(nn.Module):
    def forward(self, x):
        return x + len(rearrange(x, "b c -> c b"))


class Table(nn.Module):
    def __init__(self, act="gelu"):
        super().__init__()
        self.act = ACTIVATIONS[act]

    def forward(self, x):
        return self.act(x)


class TableFails(Table):
    def forward(self, x):
        y = self.act(x)
        for index in range(x.shape[0]):
            y = y + index
        return y


class Optional(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 3)

    def forward(self, x, mask=None, more=False):
        if mask is not None:
            x = x + rearrange(mask, "b n -> b 1 n")
        if more:
            return x, x
        return self.layer(x)
