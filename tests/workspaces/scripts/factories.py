"""Models are made by functions."""
# Residual: traced
# Tiny: traced

from torch import nn

WIDTHS = {"tiny": (8, 16), "small": (16, 32)}


class Residual(nn.Module):
    def __init__(self, width, *, reduction):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width // reduction), nn.ReLU(), nn.Linear(width // reduction, width))

    def forward(self, x):
        return x + self.inner(x)


class Tiny(nn.Module):
    def __init__(self, widths, blocks):
        super().__init__()
        self.first = nn.Linear(3, widths[0])
        self.blocks = nn.Sequential(*blocks)

    def forward(self, x):
        return self.blocks(self.first(x))


def make(name="tiny", depth=2):
    widths = WIDTHS[name]
    blocks = []
    for _ in range(depth):
        blocks.append(Residual(widths[0], reduction=2))
    return Tiny(widths, blocks)
