"""Functions of packages that are missing here, but so common that what they do is known."""
# Instantiated: traced
# InstantiatedBranch: failed control-flow
# NotThere: unchecked
# Head: traced
# Configured: traced
# Tall: failed control-flow
# store: skipped
# import: missing-package

import torch
from detectron2.config import configurable
from hydra.core.config_store import ConfigStore
from hydra.utils import get_class, get_method, instantiate
from torch import nn

store = ConfigStore()

ACTIVATION = {"_target_": "torch.nn.LeakyReLU", "negative_slope": 0.2}
LAYERS = {
    "_target_": "torch.nn.Sequential",
    "_args_": [{"_target_": "torch.nn.Linear", "in_features": 8, "out_features": 4}, ACTIVATION],
}


class Instantiated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = instantiate(LAYERS)
        self.norm = get_class("torch.nn.LayerNorm")(4)
        self.pool = get_method("torch.mean")

    def forward(self, x):
        return self.pool(self.norm(self.layers(x)), 1)


class InstantiatedBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = instantiate(ACTIVATION, negative_slope=0.5)

    def forward(self, x):
        y = self.layer(x)
        return y if y.sum() > 0 else x


class NotThere(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(*instantiate({"_target_": "nowhere.Layers", "width": width}))

    def forward(self, x):
        return self.layers(x)


class Head(nn.Module):
    @configurable
    def __init__(self, channels: int, *, num_classes: int = 3):
        super().__init__()
        self.predict = nn.Linear(channels, num_classes)

    @classmethod
    def from_config(cls, cfg, channels):
        return {"channels": channels, "num_classes": cfg.MODEL.NUM_CLASSES}

    def forward(self, features):
        return self.predict(features)


class Configured(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.head = Head(cfg, 8)

    def forward(self, features):
        return self.head(features)


class Tall(nn.Module):
    @configurable
    def __init__(self, *, height: int = 3):
        super().__init__()
        self.height = height

    def forward(self, x):
        if x.sum() > self.height:
            return torch.zeros(1)
        return x
