"""Attributes that no assignment to ``self`` sets, but that the instances have, or may have."""
# Buffers: unchecked
# Initialized: traced
# WithSetter: unchecked
# Cached: unchecked
# FromConfiguration: unchecked
# Counted: unchecked
# Declared: unchecked
# PassedOn: unchecked
# OldOnly: unchecked
# BaseElsewhere: unchecked

import functools

from torch import nn


class Buffers(nn.Module):
    def __init__(self, levels):
        super().__init__()
        for level in range(levels):
            self.add_module(f"level{level}", nn.Linear(4, 4))

    def forward(self, x):
        return x + self.level7.bias


def keeping_arguments(function):
    @functools.wraps(function)
    def constructor(self, **values):
        function(self, **values)
        for name, value in {"gain": 2, **values}.items():
            setattr(self, name, value)

    return constructor


class Initialized(nn.Module):
    @keeping_arguments
    def __init__(self, gain=2):
        super().__init__()

    def forward(self, x):
        return x * self.gain


class WithSetter(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    @property
    def mode(self):
        return "plain"

    @mode.setter
    def mode(self, value):
        self.table = value

    def forward(self, x):
        return self.layer(x) * self.table


class Cached(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    @functools.lru_cache
    def prepare(self):
        self.prepared = 3

    def forward(self, x):
        return self.layer(x) * self.prepared


class FromConfiguration(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x) / self.temperature


class Trainer:
    def __init__(self, net: FromConfiguration, config):
        for key, value in config.items():
            setattr(net, key, value)


class Counted(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x) * self.epoch


def train(net):
    for net.epoch in range(3):
        net(1)


class Declared(nn.Module):
    backbone: nn.Module

    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(self.backbone(x))


class PassedOn(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
        prepare(module=self)

    def forward(self, x):
        return self.layer(x) * self.weighting


def prepare(module):
    for name in ("weight", "ing"):
        module.name = name


class OldOnly(nn.Module):
    def __init__(self, width, is_old):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.is_old = is_old

    def forward(self, x):
        x = self.layer(x)
        if not self.is_old:
            x = self.older(x)
        return x


class BaseElsewhere(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(self.trunk(x))
