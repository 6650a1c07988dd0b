"""A script in another file shows which part its models share; alone, they are built without it."""
# Reader: traced
# Part: traced
# Writer: traced

from torch import nn


class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return x + self.layer(x)


class Reader(nn.Module):
    def __init__(self, width=4, depth=2, shared=None):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))
        self.shared = shared

    def forward(self, x):
        return self.shared(self.layers(x))


class Writer(nn.Module):
    def __init__(self, width=4, shared=None):
        super().__init__()
        self.shared = shared
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(self.shared(x))
