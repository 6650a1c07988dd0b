"""Has classes whose definitions fail, one by itself and one for lack of a package."""
# Whole: traced
# Broken: unchecked
# Sized: unchecked
# import: import missing-package

import sizes_that_are_missing
from torch import nn


class Whole(nn.Module):
    def forward(self, x):
        return x + 1


class Broken(nn.Module):
    share = 1 / 0

    def forward(self, x):
        return x + self.share


class Sized(nn.Module):
    share = 1 / len(sizes_that_are_missing.all_sizes)

    def forward(self, x):
        return x + self.share
