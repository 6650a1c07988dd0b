"""Decorators of missing packages: on classes, on methods that are traced, and on kernels that they would compile."""
# Registered: traced
# HalfPrecision: unchecked
# FailsBeforeItCallsOne: failed control-flow
# FailsAfterItCalledOne: unchecked
# Optional: unchecked
# Checked: unchecked
# Kernels: traced
# import: missing-package

import torch
from torch import nn

import kernels_that_are_missing as kernels
import kernels_that_are_missing.language as kl
from toolbox_that_is_missing import HEADS, auto_half, checked

from generated_and_missing import __version__


@kernels.autotune(configs=[kernels.Config({"BLOCK": size}, num_warps=4) for size in (32, 64)], key=["count"])
@kernels.jit
def add_one(pointer, count, BLOCK: kl.constexpr):
    offsets = kl.program_id(0) * BLOCK + kl.arange(0, BLOCK)
    kl.store(pointer + offsets, kl.load(pointer + offsets) + 1, mask=offsets < count)


@HEADS.register_module()
class Registered(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)


class HalfPrecision(Registered):
    @auto_half(apply_to=("x",))
    def forward(self, x):
        return self.layer(x)


class Checked(Registered):
    @checked
    def forward(self, x):
        return self.layer(x)


class Kernels(Registered):
    """Has the kernel at hand, and does without it."""

    def forward(self, x):
        return self.layer(x) + 1


@auto_half()
def windows(width):
    return torch.ones(width, width)


class FailsBeforeItCallsOne(Registered):
    def __init__(self, width=4):
        super().__init__(width)
        self.register_buffer("mask", windows(width))

    def forward(self, x):
        if x.sum() > 0:
            x = x + windows(4)
        return self.layer(x)


class FailsAfterItCalledOne(Registered):
    def forward(self, x):
        if (windows(4) + x).sum() > 0:
            return x
        return self.layer(x)


class Optional(nn.Module):
    """Nothing is known of it without its optional input either."""

    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.register_buffer("mask", windows(width))

    def forward(self, x, scale=None):
        if scale is not None and scale > 0:
            x = x * scale
        return self.layer(x)
