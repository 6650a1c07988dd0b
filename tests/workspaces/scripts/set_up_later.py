"""Classes that other code completes: their constructor alone does not show whether they can be traced."""
# Cached: unchecked
# Projected: unchecked
# Checked: unchecked
# Scaled: unchecked
# Windowed: unchecked
# Stacked: unchecked
# Configured: unchecked
# Counted: unchecked
# OfScript: unchecked
# OfDevice: unchecked
# OfCommandLine: unchecked
# Built: traced on a condition
# Wide: traced
# OfKind: unchecked
# OfOneKind: unchecked
# Given: traced
# Forgotten: failed exception
# Unset: not-built
# Guarded: failed exception

import os
import sys

import torch
from torch import nn

SETTINGS = None
COUNTS = {}


def configure(settings):
    global SETTINGS
    SETTINGS = settings


def count(name, number):
    COUNTS[name] = number


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None

    def make_cache(self, batch):
        self.cache = torch.zeros(batch, 4)

    def forward(self, x):
        self.cache[:, 0] = 1
        return x + self.cache


class Projected(nn.Module):
    def set_width(self, width):
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)


class Checked(Cached):
    def forward(self, x):
        if self.cache is None:
            raise RuntimeError("call make_cache first")
        return x + self.cache


class Scaled(nn.Module):
    def forward(self, x):
        return x * self.temperature


class Windowed(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.columns = None, None

    def forward(self, x):
        return x.view(-1, self.rows * self.columns)


class Stacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList()

    def add(self, part):
        self.parts.append(part)

    def forward(self, x):
        return torch.stack([part(x) for part in self.parts])


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SETTINGS["width"], 4)

    def forward(self, x):
        return self.layer(x)


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Embedding(COUNTS["words"], 4)

    def forward(self, x):
        return self.layer(x)


class OfScript(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Embedding(len(words), 4)

    def forward(self, x):
        return self.layer(x)


class OfDevice(nn.Module):
    def __init__(self):
        super().__init__()
        assert torch.cuda.is_available(), "needs a GPU"

    def forward(self, x):
        return x


class OfCommandLine(nn.Module):
    def __init__(self):
        super().__init__()
        given = sys.argv[1:] or os.environ["NO_SUCH_WIDTH"].split()
        self.layer = nn.Linear(int(given[0]), 4)

    def forward(self, x):
        return self.layer(x)


class Built(nn.Module):
    width = None

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(self.width, 4)

    def forward(self, x):
        return self.layer(x)


class Wide(Built):
    width = 8


class OfKind(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = self.make_layer()

    def make_layer(self):
        raise NotImplementedError

    def forward(self, x):
        return self.layer(x)


class OfOneKind(OfKind):
    def make_layer(self):
        return nn.Linear(COUNTS["kinds"], 4)


class Given(nn.Module):
    """Nobody builds it without its part, which has a default all the same."""

    def __init__(self, part=None):
        super().__init__()
        self.part = part

    def forward(self, x):
        return self.part(x)


class Forgotten(nn.Module):
    """Nothing ever sets what it reads."""

    def __init__(self):
        super().__init__()
        self.layer = None

    def forward(self, x):
        return self.layer(x)


class Unset(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(self.width, 4)

    def forward(self, x):
        return self.layer(x)


class Guarded(nn.Module):
    """What another method sets has no part in the failure."""

    def __init__(self):
        super().__init__()
        self.cache = None

    def make_cache(self):
        self.cache = 1

    def forward(self, x):
        return torch.cat([x] * 2, self.layer)


if __name__ == "__main__":
    with open("words.txt") as file:
        words = file.read().split()
    scaled = Scaled()
    scaled.temperature = 0.5
    windowed = Windowed()
    windowed.rows, windowed.columns = 2, 3
