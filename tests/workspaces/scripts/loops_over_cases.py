"""Builds models in loops over cases that are written out."""
# Widths: traced
# Table: traced
# Skipped: traced
# Chosen: traced

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


class Skipped(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.is_odd = width % 2 == 1
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return -x if self.is_odd and x.sum() > 0 else self.inner(x)


class Chosen(Skipped):
    pass


def test_widths():
    for spec, kind in [("8x4x2", "a wide one"), ("8x8x8", "the wide one")]:
        assert Widths(spec, kind)


def test_table():
    for sizes in SIZES.values():
        assert Table(**sizes)


def test_skipped():
    for width in (5, 8):
        if width % 2:
            continue
        assert Skipped(width)


def test_chosen():
    for width in (5, 8):
        if width % 2 == 0:
            assert Chosen(width)
