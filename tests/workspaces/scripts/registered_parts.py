"""Parts are registered with the registries of a toolbox that is not installed, and models are built of them by name."""
# HEADS: skipped
# OTHER_HEADS: skipped
# Body: traced
# Swish: traced
# Head: traced
# Detector: traced
# OfTable: traced
# Branches: failed control-flow
# Foreign: traced on a condition
# Once: traced
# Again: traced
# Ambiguous: unchecked
# Built: traced
# import: missing-package

import torch
from torch import nn
from toolbox_that_is_missing.builder import BACKBONES
from toolbox_that_is_missing.utils import Registry, build_from_cfg

from common_parts_that_are_missing import ACTIVATIONS, register_model

HEADS = Registry("heads")
OTHER_HEADS = Registry("heads")


@BACKBONES.register_module()
class Body(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(3, width)
        self.width = width

    def forward(self, x):
        return self.layer(x)


@ACTIVATIONS.register("swish")
class Swish(nn.Module):
    def forward(self, x):
        return x * x.sigmoid()


@HEADS.register_module(name="head")
class Head(nn.Module):
    def __init__(self, width=4, classes=2):
        super().__init__()
        self.layer = nn.Linear(width, classes)

    def forward(self, x):
        return self.layer(x)


@OTHER_HEADS.register_module(name="head")
@HEADS.register_module(name="branches")
class Branches(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, 2)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else x


@register_model
def body_of_width(width):
    return Body(width * 2)


class Detector(nn.Module):
    def __init__(self, body=dict(type="Body", width=8), head=dict(type="head"), act="swish"):
        super().__init__()
        self.body = BACKBONES.build(body)
        self.head = build_from_cfg(head, HEADS, dict(width=self.body.width))
        self.act = ACTIVATIONS.get(act)() if act in ACTIVATIONS else nn.ReLU()

    def forward(self, x):
        return self.head(self.act(self.body(x)))


class OfTable(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.act = ACTIVATIONS["swish"]()
        self.body = body_of_width(width)
        self.last = nn.Linear(self.body.width, 1)

    def forward(self, x):
        return self.last(self.act(self.body(x)))


class Foreign(nn.Module):
    """The toolbox may know it, but the program does not."""

    def __init__(self):
        super().__init__()
        self.body = BACKBONES.build(dict(type="ResNet"))

    def forward(self, x):
        return self.body(x)


@BACKBONES.register_module(name="twice")
class Once(nn.Identity):
    pass


@BACKBONES.register_module(name="twice")
class Again(nn.Identity):
    pass


class Ambiguous(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, BACKBONES.get("twice")().width)

    def forward(self, x):
        return self.layer(x)


class Built(nn.Module):
    def __init__(self, cfg=dict(type=Head, classes=3)):
        super().__init__()
        self.head = HEADS.build(cfg)

    def forward(self, x):
        return torch.relu(self.head(x))
