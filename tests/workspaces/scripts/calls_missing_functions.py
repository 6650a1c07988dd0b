"""Functions of a package that is not installed are called on traced values; what else fails is said all the same."""
# Through: unchecked
# Fails: failed control-flow
# Counts: unchecked
# Inside: unchecked
# InsideFails: failed len
# Asks: traced
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


class Inside(nn.Module):
    """The import stands where the function is called."""

    def forward(self, x):
        from scattering_that_is_missing import scatter

        return scatter(x, 0)


class InsideFails(nn.Module):
    def forward(self, x):
        import scattering_that_is_missing

        return scattering_that_is_missing.scatter(x, len(x))


class Asks(nn.Module):
    def forward(self, x):
        try:
            import deciding_that_is_missing
        except ImportError:
            return x + 1
        return deciding_that_is_missing.decide(x)


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
