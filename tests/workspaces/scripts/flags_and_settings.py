"""Checks that are switched on by a flag of any name, or by a setting that this script switches off."""
# Guarded: traced
# Configured: traced
# ByKey: traced
# Clipped: traced
# SwitchedOn: failed control-flow
# InContext: traced

import torch
from torch import nn

SETTINGS = {"guarded_dim": 8, "look_for_nans": False, "raise_on_nans": False, "clip_above": 0.0, "route_by_value": True}


class Guarded(nn.Module):
    def __init__(self, dim, thorough):
        super().__init__()
        self.thorough = thorough
        self.layer = nn.Linear(dim, dim)

    def forward(self, x):
        if self.thorough:
            assert torch.isfinite(x).all()
        return self.layer(x)


class Configured(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.layer = nn.Linear(cfg.guarded_dim, cfg.guarded_dim)

    def forward(self, x):
        if self.cfg.look_for_nans and torch.isnan(x).any():
            raise ValueError
        return self.layer(x)


class ByKey(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.raise_on_nans = cfg["raise_on_nans"]
        self.layer = nn.Linear(cfg["guarded_dim"], cfg["guarded_dim"])

    def forward(self, x):
        if self.raise_on_nans:
            assert torch.isfinite(x).all()
        return self.layer(x)


class Clipped(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.largest = cfg["clip_above"]
        self.layer = nn.Linear(cfg["guarded_dim"], cfg["guarded_dim"])

    def forward(self, x):
        if self.largest > 0 and x.norm() > self.largest:
            x = x / x.norm() * self.largest
        return self.layer(x)


class SwitchedOn(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.by_value = cfg["route_by_value"]
        self.layer = nn.Linear(cfg["guarded_dim"], cfg["guarded_dim"])

    def forward(self, x):
        if self.by_value:
            return self.layer(x) if x.sum() > 0 else x
        return self.layer(x)


class InContext(nn.Module):
    def __init__(self, backbone, autocast_ctx, region):
        super().__init__()
        self.backbone = backbone
        self.backbone.eval()
        self.autocast_ctx = autocast_ctx
        self.region = region

    def forward(self, x):
        with self.autocast_ctx(enabled=True), self.region:
            return self.backbone.get_features(x)
