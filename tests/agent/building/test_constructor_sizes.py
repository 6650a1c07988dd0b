"""The numbers that constructors receive are found and can be replaced, without changing what was passed."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from fx_lsp.agent.building.constructor_sizes import Numbers, Size, SizedConstructors


@dataclass
class Config:
    width: int = 64
    depths: tuple[int, ...] = (2, 2, 6)


class Block(torch.nn.Module):
    def __init__(self, width: int = 1000) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(width, width)


class Net(torch.nn.Module):
    def __init__(self, config: Any, classes: int = 10, *, heads: int = 8, bias: bool = True) -> None:
        super().__init__()
        self.config = config
        self.heads = heads
        self.blocks = torch.nn.ModuleList(Block(config.width) for _ in range(sum(config.depths)))
        self.head = torch.nn.Linear(config.width, classes, bias=bias)


NET = f"{__name__}.Net"


def test_the_numbers_of_configurations_and_defaults_are_found() -> None:
    constructors = SizedConstructors({})
    with constructors.active():
        Net(Config())
    assert list(constructors.found) == [
        Size(NET, ("config", "width"), 64),
        Size(NET, ("config", "depths"), (2, 2, 6)),
        Size(NET, ("classes",), 10),
        Size(NET, ("heads",), 8),
    ]


def test_numbers_are_replaced_in_a_copy_of_the_configuration() -> None:
    config = Config()
    sizes: dict[Size, Numbers] = {
        Size(NET, ("config", "width"), 64): 16,
        Size(NET, ("config", "depths"), (2, 2, 6)): (1, 1, 2),
    }
    with SizedConstructors(sizes).active():
        net = Net(config, heads=4)
    assert (net.head.in_features, len(net.blocks), net.heads) == (16, 4, 4)
    assert config == Config()
    with SizedConstructors({}).active():
        assert Net(config).head.in_features == 64


def test_of_an_inner_constructor_only_the_defaults_that_apply_are_replaced() -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            width = 10
            self.default, self.given = Block(), Block(width)

    width = Size(f"{__name__}.Block", ("width",), 1000)
    constructors = SizedConstructors({width: 16, Size(f"{__name__}.Block", ("width",), 10): 5})
    with constructors.active():
        outer = Outer()
    assert [*constructors.found, *constructors.written] == [width]
    assert (outer.default.layer.in_features, outer.given.layer.in_features) == (16, 10)


def test_numbers_in_dicts_and_namespaces_are_replaced() -> None:
    found = Size(NET, ("config", "depths"), (3,))
    with SizedConstructors({found: (2,), Size(NET, ("config", "width"), 32): 8}).active():
        net = Net(SimpleNamespace(width=32, depths=[3]))
    assert (net.config.depths, net.head.in_features) == ([2], 8)


def test_another_value_at_the_same_place_is_kept() -> None:
    with SizedConstructors({Size(NET, ("classes",), 10): 2}).active():
        assert (Net(Config()).head.out_features, Net(Config(), 7).head.out_features) == (2, 7)


def test_modules_are_built_as_usual_afterwards() -> None:
    with SizedConstructors({Size(NET, ("classes",), 10): 2}).active():
        pass
    assert Net(Config()).head.out_features == 10
    assert Block().layer.in_features == 1000


class Axes(torch.nn.Module):
    def __init__(self, one: int, other: int) -> None:
        super().__init__()
        self.axes = one, other


class Outer(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        heads = 4
        self.net = Net(Config(), 100, heads=heads)
        self.written = Block(width=48)
        self.axes = Block(-1) if width < 0 else Axes(-2, -1)
        self.given = Block(width)


def test_numbers_that_are_written_where_a_constructor_calls_another_are_found_apart() -> None:
    classes, width = Size(NET, ("classes",), 100), Size(f"{__name__}.Block", ("width",), 48)
    constructors = SizedConstructors({classes: 5, width: 16})
    with constructors.active():
        outer = Outer(48)
    assert list(constructors.found) == [Size(f"{__name__}.Outer", ("width",), 48)]
    assert list(constructors.written) == [classes, width]
    assert outer.net.head.out_features == 5
    assert [outer.written.layer.in_features, outer.given.layer.in_features] == [16, 48]
