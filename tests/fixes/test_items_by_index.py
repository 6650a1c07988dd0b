"""Loops over modules and the items of a traced value."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
import torch

from fx_lsp.fixes.items_by_index import fixes
from tests.fixes.fixing import check, offered, refuse

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.last = nn.Linear(4, 4)

    def forward(self, x):
        xs = x.split([1, 1, 1])
"""

INPUTS = [(torch.linspace(-1, 1, 12).view(3, 4),), (torch.ones(3, 2, 4),)]


def net(body: str) -> str:
    """A program whose forward does ``body`` with a tuple of three tensors."""
    return f"{NET}{indent(body, '        ')}\n"


@pytest.mark.parametrize(
    ("body", "old", "new"),
    [
        (
            "return [layer(x) for layer, x in zip(self.layers, xs)]",
            "xs)]",
            "[xs[index] for index in range(len(self.layers))])]",
        ),
        (
            "y = 0\nfor x, layer in zip(xs[1:], self.layers[1:]):\n    y = y + layer(x)\nreturn y",
            "xs[1:],",
            "[items[index] for items in [xs[1:]] for index in range(len(self.layers[1:]))],",
        ),
        (
            "ys = []\nfor i, x in enumerate(xs):\n    ys.append(self.layers[i](x))\nreturn ys",
            "(xs)",
            "([xs[index] for index in range(len(self.layers))])",
        ),
        ("return [self.layers[i](xs[i]) for i in range(len(xs))]", "len(xs)", "len(self.layers)"),
    ],
)
def test_as_many_items_are_indexed_as_there_are_modules(body: str, old: str, new: str, tmp_path: Path) -> None:
    check(tmp_path, fixes, net(body), net(body.replace(old, new)), inputs=INPUTS)


@pytest.mark.parametrize(
    "body",
    [
        "return [self.last(x) for x in xs]",
        "return [self.last(x) * i for i, x in enumerate(xs)]",
        "return [self.last(x) + y for x, y in zip(xs, xs)]",
        "return self.last(xs[len(xs) - 1])",
    ],
)
def test_an_unknown_number_of_items_is_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, fixes, net(body))


@pytest.mark.parametrize(
    ("check", "is_offered"),
    [
        ("assert len(mask) == 3", True),
        ("if len(mask) != 3:\n    raise ValueError", True),
        ("torch._assert(3 == len(mask), '')", True),
        ("assert len(x) == 3", False),
        ("assert len(mask) > 1", False),
        ("if len(mask) == 3:\n    x = x + 1", False),
    ],
)
def test_a_list_that_may_be_shorter_is_left(check: str, is_offered: bool) -> None:
    body = f"{check}\nfor layer, x in zip(self.layers, mask[1:]):\n    x = layer(x)\nreturn x"
    assert bool(offered(fixes, body, "zip(self.layers, mask[1:])")) is is_offered
