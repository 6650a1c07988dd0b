"""Tries to import what is not there, and then needs it all the same."""
# Block: traced on a condition
# Fused: traced on a condition
# Scaled: unchecked
# Branching: failed control-flow
# Packed: unchecked
# Holder: unchecked
# Checked: unchecked
# Versioned: unchecked
# Own: failed exception

import torch
from torch import nn

try:
    from kernels_that_are_missing import FusedNorm, fused_scale
except ImportError:
    print("FusedNorm and fused_scale are not available")
    FusedNorm, fused_scale = None, None

try:
    from kernels_that_are_missing import PackedConv
except ImportError:
    PackedConv = object

try:
    import kernels_that_are_missing

    version = float(kernels_that_are_missing.__version__)
    HAS_KERNELS = True
except ImportError:
    HAS_KERNELS = False

try:
    import apex_that_is_missing as apex
except ImportError:
    apex = None

own_scale = None


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.inner = nn.Linear(3, width)
        self.norm = FusedNorm(width)

    def forward(self, x):
        return self.norm(self.inner(x))


class Fused(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm = apex.normalization.FusedLayerNorm(width)

    def forward(self, x):
        return self.norm(x)


class Scaled(nn.Module):
    def forward(self, x):
        return fused_scale(x, 2)


class Branching(nn.Module):
    def forward(self, x):
        scaled = fused_scale(x, 2)
        return scaled if x.sum() > 0 else -scaled


class Packed(PackedConv):
    def forward(self, x):
        return x + 1


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.packed = Packed(3, 8)

    def forward(self, x):
        return self.packed(x)


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        if not HAS_KERNELS:
            raise ImportError("please install kernels_that_are_missing")
        self.inner = nn.Linear(3, 8)

    def forward(self, x):
        return torch.relu(self.inner(x))


class Versioned(nn.Module):
    def forward(self, x):
        return x + 1 if version > 1.0 else x - 1


class Own(nn.Module):
    def forward(self, x):
        return own_scale(x)
