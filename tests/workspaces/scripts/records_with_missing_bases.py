"""A model that keeps a record whose base class is missing."""
# Counting: failed len
# Scaled: traced on a condition
# import: missing-package

from dataclasses import dataclass

from nowhere.printing import Printable
from torch import nn


@dataclass(kw_only=True)
class Sizes(Printable):
    width: int
    depth: int = 2


class Counting(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.sizes = Sizes(width=width)

    def forward(self, x):
        return x * len(x)


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.sizes = Sizes(width=width)

    def forward(self, x):
        return x * self.sizes.width
