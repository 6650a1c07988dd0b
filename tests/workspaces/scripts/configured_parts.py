"""A class that builds its parts from names in a configuration, which nobody shows."""
# Wrapper: traced on a condition
# Branches: failed control-flow

import importlib

from torch import nn


def make(config):
    home, name = config["target"].rsplit(".", 1)
    return getattr(importlib.import_module(home), name)(**config.get("params", dict()))


class Wrapper(nn.Module):
    def __init__(self, model_config):
        super().__init__()
        self.model = make(model_config)

    def forward(self, x):
        return self.model(x) + x


class Branches(Wrapper):
    def forward(self, x):
        if x.sum() > 0:
            x = -x
        return super().forward(x)
