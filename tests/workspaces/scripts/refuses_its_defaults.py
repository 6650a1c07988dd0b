"""A class whose own defaults lead to an option that it refuses, and classes that pass on whatever they are given."""
# Scan: failed exception
# Backbone: unchecked
# Other: traced

from torch import nn


class Scan(nn.Module):
    def __init__(self, kind="v2", width=4):
        super().__init__()
        self.backend = {"v1": "loop", "v2": "core"}[kind]
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        assert self.backend in ("loop", "native")
        return self.layer(x)


class Backbone(Scan):
    def __init__(self, indices=(0, 1), **kwargs):
        super().__init__(**kwargs)
        self.indices = indices

    def forward(self, x):
        return super().forward(x)


class Other(Scan):
    def __init__(self, **kwargs):
        super().__init__(kind="v1", **kwargs)
        self.backend = "native"
