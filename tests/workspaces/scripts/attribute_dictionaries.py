"""Settings are in dictionaries with attributes, whose packages are not installed."""
# cfg: skipped
# Net: traced
# Deep: traced
# Lists: traced
# Sets: traced
# Merged: traced
# Lacks: not-built
# Sized: unchecked
# Flagged: unchecked
# import: missing-package

import ml_collections
from addict import Dict as Record
from easydict import EasyDict as edict
from mmengine import ConfigDict
from omegaconf import DictConfig, ListConfig, OmegaConf
from torch import nn

cfg = edict({"width": 8, "head": {"classes": 2}, "stages": [{"depth": 1}, {"depth": 2}]})
cfg.head.bias = False

OPTIONS = OmegaConf.create({"net": {"width": 4, "sides": [3, 3]}, "size": "${net.width}"})


def default_config():
    config = ml_collections.ConfigDict()
    config.width = 4
    config.net = ml_collections.ConfigDict({"classes": 2})
    return config.lock()


class Net(nn.Module):
    def __init__(self, width=cfg.width):
        super().__init__()
        self.head = nn.Linear(width, cfg.head.classes, **({} if cfg.head.bias else {"bias": False}))

    def forward(self, x):
        return self.head(x)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        found = Record(dict(net=dict(width=4)))
        found.net.layers.last = 2
        assert isinstance(found, dict) and not found.net.nothing
        self.layer = nn.Linear(found.net.width, found.net.layers.last)

    def forward(self, x):
        return self.layer(x)


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList(nn.Linear(4, 4) for stage in cfg.stages for _ in range(stage.depth))

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x


class Sets(nn.Module):
    def __init__(self):
        super().__init__()
        config = default_config()
        self.layer = nn.Linear(config.width, config.net["classes"])

    def forward(self, x):
        return self.layer(x)


class Merged(nn.Module):
    def __init__(self):
        super().__init__()
        options = OmegaConf.merge(OPTIONS, {"net": {"classes": 3}})
        assert isinstance(options.net, DictConfig) and isinstance(options.net.sides, ListConfig)
        self.layer = nn.Conv2d(options.net.width, options.net.classes, tuple(options.net.sides))

    def forward(self, x):
        return self.layer(x)


class Lacks(nn.Module):
    def __init__(self):
        super().__init__()
        settings = ConfigDict(inner=4)
        self.layer = nn.Linear(settings.inner, settings.outer)

    def forward(self, x):
        return self.layer(x)


class Sized(nn.Module):
    """What OmegaConf evaluates is not known."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(OPTIONS.size, 2)

    def forward(self, x):
        return self.layer(x)


class Flagged(nn.Module):
    """Some versions of OmegaConf raise an error for what is not there."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2 if OPTIONS.net.flag is None else 4)

    def forward(self, x):
        return self.layer(x)
