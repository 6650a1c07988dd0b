"""Modules and graphs that the tests of passes run on, made once for fxcore and once for torch.fx."""

from __future__ import annotations

import functools
import operator
import random
from typing import Any

import torch
from torch import nn

from tests.zoo import torchvision


class Branches(nn.Module):
    """Two convolutions on one input, joined; a nested result."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.other = nn.Conv2d(3, 4, 1)
        self.scale = nn.Parameter(torch.full((1,), 0.5))
        self.register_buffer("shift", torch.ones(1))

    def forward(self, x: torch.Tensor, factor: float = 2.0) -> Any:
        a = self.block(x) * self.scale + self.shift
        b = torch.sigmoid(self.other(x)) * factor
        first, second = torch.chunk(a + b, 2, dim=1)
        return torch.cat([second, first], dim=1), {"sum": a.sum(dim=[1, 2], keepdim=True), "shape": b.size(1)}


def image() -> torch.Tensor:
    """An input for ``Branches``: two images of 8 x 8 pixels."""
    return torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))


@functools.cache
def resnet() -> nn.Module:
    """torchvision's ResNet-18 with random weights, in eval mode; the same one every time."""
    torch.manual_seed(0)
    model: nn.Module = torchvision.models.resnet18(weights=None)
    return model.eval()


def plain(value: Any) -> Any:
    """``value`` with plain containers in the place of each library's immutable ones; exceptions as they are."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        return list(map(plain, value))
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def make_tuple(*items: Any) -> tuple[Any, ...]:
    """A function whose result is taken apart again."""
    return items


def random_graph(fx: Any, seed: int, size: int) -> Any:
    """A graph module of ``fx`` (fxcore or torch.fx) with random operations, tuples and items among them."""
    rng = random.Random(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder(f"x{index}") for index in range(rng.randint(1, 3))]
    span = rng.choice([2, 4, size])
    for _ in range(size):
        near = nodes[-span:] if rng.random() < 0.8 else nodes
        kind = rng.random()
        if kind < 0.15:
            nodes.append(graph.call_function(make_tuple, (rng.choice(near), rng.choice(near))))
            for index in range(rng.randint(0, 2)):
                nodes.append(graph.call_function(operator.getitem, (nodes[-1 - index], index)))
        elif kind < 0.6:
            nodes.append(graph.call_function(rng.choice([torch.relu, torch.neg]), (rng.choice(near),)))
        else:
            nodes.append(graph.call_function(torch.add, (rng.choice(near), rng.choice(near))))
    graph.output(tuple(rng.sample(nodes, rng.randint(1, 3))))
    return fx.GraphModule(nn.Module(), graph)
