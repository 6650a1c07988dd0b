"""Values of a missing package that decide, count or size something, and some that do not."""
# Branch: unchecked
# Count: unchecked
# Size: unchecked
# Initialized: traced
# Loaded: traced
# import: missing-package

from torch import nn
from toolbox_that_is_missing import constant_init, defaults, load_checkpoint, to_pair, truncated_normal_


class Branch(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width) if defaults.is_linear else nn.Identity()

    def forward(self, x):
        return self.layer(x)


class Count(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(defaults.depth)))

    def forward(self, x):
        return self.layers(x)


class Size(nn.Module):
    def __init__(self, patch=4):
        super().__init__()
        height, width = to_pair(patch)
        self.layer = nn.Linear(height * width, 3)

    def forward(self, x):
        return self.layer(x)


class Initialized(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)
        truncated_normal_(self.layer.weight, std=0.02)
        self.apply(self.initialize)

    def initialize(self, module):
        if isinstance(module, nn.Linear):
            constant_init(module, 0)

    def forward(self, x):
        return self.layer(x)


class Loaded(Initialized):
    def __init__(self, width=4, weights="weights.pth"):
        super().__init__(width)
        load_checkpoint(self, weights, strict=False)
