"""Builds models in loops over cases that are written out."""
# Widths: traced
# Table: traced

from torch import nn

SIZES = {"tiny": {"layers": "8-4-2", "kind": "plain"}, "small": {"layers": "16-8", "kind": "plain"}}


class Widths(nn.Module):
    def __init__(self, spec, kind):
        super().__init__()
        widths = [int(width) for width in spec.split("x")]
        assert kind.index("wide") >= 0 and len(widths) == 3
        self.inner = nn.Sequential(*(nn.Linear(a, b) for a, b in zip(widths, widths[1:])))

    def forward(self, x):
        return self.inner(x)


class Table(nn.Module):
    def __init__(self, layers, kind):
        super().__init__()
        first, *widths = map(int, layers.split("-"))
        self.inner = nn.Linear(first, widths[0])
        self.kind = {"plain": nn.Identity}[kind]()

    def forward(self, x):
        return self.kind(self.inner(x))


def test_widths():
    for spec, kind in [("8x4x2", "a wide one"), ("8x8x8", "the wide one")]:
        assert Widths(spec, kind)


def test_table():
    for sizes in SIZES.values():
        assert Table(**sizes)
