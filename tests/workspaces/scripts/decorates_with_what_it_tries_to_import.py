"""It tries to import a compiler of kernels, and needs it all the same to define them."""
# import: missing-package
# Scan: traced
# Mixed: unchecked

import torch
from torch import nn

try:
    import compiler_of_kernels
except ImportError:
    print("slow without the compiler of kernels")


@compiler_of_kernels.jit
def kernel(x, size):
    return x * size


class Scan(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return torch.cumsum(self.layer(x), dim=-1)


class Mixed(nn.Module):
    def forward(self, x):
        return kernel(x, 2)
