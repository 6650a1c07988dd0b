"""Parameters that have a default only because the parameters before them have one."""
# Detect: traced
# Scales: traced
# Lookup: traced
# Masked: traced
# Flattened: traced
# Encoded: unchecked
# Refusing: unchecked
# WithPlainSettings: unchecked
# Halved: not-built
# Decoder: traced
# Switched: traced

import abc

import numpy as np
import torch
from torch import nn


class Detect(nn.Module):
    def __init__(self, nc=80, anchors=(), ch=()):
        super().__init__()
        self.levels = len(anchors)
        pairs = len(anchors[0]) // 2
        self.register_buffer("anchors", torch.tensor(anchors).float().view(self.levels, -1, 2))
        self.heads = nn.ModuleList(nn.Conv2d(width, (nc + 5) * pairs, 1) for width in ch)

    def forward(self, x):
        return [self.heads[level](x) for level in range(self.levels)]


class Scales(nn.Module):
    def __init__(self, classes=80, ch=[]):
        super().__init__()
        self.layer = nn.Conv2d(ch[0], max(16, ch[0] // 4), 1)

    def forward(self, x):
        return self.layer(x)


class Lookup(nn.Module):
    def __init__(self, dim=8, widths={}, groups=-1, activation=""):
        super().__init__()
        self.first = nn.Linear(dim, widths["hidden"])
        self.second = nn.Conv1d(4, 4, 1, groups=groups)
        self.activation = {"relu": nn.ReLU, "gelu": nn.GELU}[activation]()

    def forward(self, x):
        return self.activation(self.first(x))


class Masked(nn.Module):
    """MADE: numpy asks for the size of the masks."""

    def __init__(self, nin, hidden_sizes, nout):
        super().__init__()
        sizes = [nin] + hidden_sizes + [nout]
        self.layers = nn.Sequential(*[nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        rng = np.random.RandomState(0)
        self.orders = {-1: rng.permutation(nin)}
        for at in range(len(hidden_sizes)):
            self.orders[at] = rng.randint(self.orders[at - 1].min(), nin - 1, size=hidden_sizes[at])

    def forward(self, x):
        return self.layers(x)


class Flattened(nn.Module):
    def __init__(self, input_shape, fc_dims):
        super().__init__()
        size = input_shape
        layers = []
        for width in fc_dims:
            layers.append(nn.Linear(int(np.prod(size)), width))
            size = width
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


class Encoded(nn.Module):
    def __init__(self, encoder=None):
        super().__init__()
        if type(encoder) is not abc.ABCMeta:
            self.encoder = vars(encoder)["a setting"]

    def forward(self, x):
        return self.encoder(x)


class Refusing(nn.Module):
    def __init__(self, width=8, kind="none"):
        super().__init__()
        if kind != str(id(kind)):
            raise ValueError("choose a kind")
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)


class WithPlainSettings(nn.Module):
    def __init__(self, encoder=dict(width=8)):
        super().__init__()
        self.layer = nn.Linear(encoder.width, encoder.depth.in_all)

    def forward(self, x):
        return self.layer(x)


class Halved(nn.Module):
    def __init__(self, width=8, norm=None):
        super().__init__()
        self.layer = nn.Linear(width, width / 2)

    def forward(self, x):
        return self.layer(x)


class Decoder(nn.Module):
    def __init__(self, returns_all=False):
        super().__init__()
        assert returns_all
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


class Switched(nn.Module):
    def __init__(self, width=4, returns_all_layers=False):
        super().__init__()
        self.decoder = Decoder(returns_all=returns_all_layers)

    def forward(self, x):
        return self.decoder(x)
