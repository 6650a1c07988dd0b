"""Mistakes that no way of building it would mend, and some that only look like such mistakes."""
# Scaled: failed exception
# Summed: failed iteration
# NeverSet: failed exception
# SetFromOutside: unchecked
# SetByItsName: traced
# SetByAFunction: unchecked
# Debugged: traced

import pdb

from torch import nn


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x) * scale


class Summed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return sum(self.layer(row) for row in x)


class NeverSet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        if self.is_flat:
            return self.layer(x)
        return x


class SetFromOutside(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x) * self.factor


class SetByItsName(nn.Module):
    def __init__(self, width, options):
        super().__init__()
        self.layer = nn.Linear(width, 1)
        self.__dict__.update(options)

    def forward(self, x):
        return self.layer(x) * self.strength


class SetByAFunction(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)
        prepare(self)

    def forward(self, x):
        return self.layer(x) * self.power


class Debugged(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)
        breakpoint()

    def forward(self, x):
        pdb.set_trace()
        return self.layer(x)


def prepare(module):
    if module.layer.out_features > 1:
        module.factor = 2
