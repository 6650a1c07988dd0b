"""Builds on mmcv, which is missing, as detectors do."""
# Neck: traced on a condition
# Head: failed control-flow
# Half: unchecked
# Embed: traced
# import: missing-package

import torch
from mmcv.cnn import ConvModule
from mmcv.runner import BaseModule, ModuleList, auto_fp16, force_fp32
from mmcv.utils import deprecated_api_warning, to_2tuple
from torch import nn


class Neck(BaseModule):
    def __init__(self, in_channels=(8, 16), out_channels=4, init_cfg=None):
        super().__init__(init_cfg)
        self.fp16_enabled = False
        self.convs = ModuleList()
        for channels in in_channels:
            self.convs.append(ConvModule(channels, out_channels, 1))

    @auto_fp16()
    def forward(self, x):
        return [conv(x) for conv in self.convs]


class Head(BaseModule):
    def __init__(self):
        super().__init__(init_cfg=dict(type="Normal", layer="Conv2d", std=0.01))
        self.fp16_enabled = False
        self.score = nn.Conv2d(4, 1, 1)

    @force_fp32(apply_to=("x",))
    def forward(self, x):
        score = self.score(x)
        return score if score.max() > 0 else -score


class Half(BaseModule):
    def __init__(self):
        super().__init__()
        self.fp16_enabled = True
        self.score = nn.Conv2d(4, 1, 1)

    @auto_fp16(apply_to=("x",))
    def forward(self, x):
        return self.score(x)


class Embed(BaseModule):
    @deprecated_api_warning({"kernel_size": "patch"}, cls_name="Embed")
    def __init__(self, patch=4):
        super().__init__()
        self.size = to_2tuple(patch)
        self.projection = nn.Conv2d(3, 8, self.size, self.size)

    def forward(self, x):
        return torch.relu(self.projection(x)).flatten(2)
