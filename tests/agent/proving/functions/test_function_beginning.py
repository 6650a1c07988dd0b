"""What is left of a function without its end."""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

import pytest
import torch

import fxcore
from fx_lsp.agent.proving.functions.function_beginning import PREFIX, beginning_of, unchanged_end

OLD = "class Net:\n    def forward(self, x):\n        y = len(x)\n        z = y + 1\n        return z\n"


def test_the_end_is_what_an_edit_leaves_behind_the_line_that_fails() -> None:
    assert unchanged_end(OLD, OLD.replace("len(x)", "x.size(0)"), "Net.forward", 3) == 2
    assert unchanged_end(OLD, f"import torch\n{OLD}", "Net.forward", 3) == 2
    assert unchanged_end(OLD, OLD.replace("return z", "return z + 0"), "Net.forward", 3) == 0


class Base(torch.nn.Module):
    """Has what a method calls with ``super``."""

    def scaled(self, x: float) -> float:
        return 3 * x


class Net(Base):
    """Methods to cut off."""

    def __init__(self) -> None:
        super().__init__()
        self.__private = 1.0

    def forward(self, x: float, *, factor: float = 2.0) -> float:
        y = super().scaled(x) + self.__private
        _unused, number = y, factor
        if x < 0:
            late = x
        y += number
        return y + late + len(f"{x}")

    def reading_all(self, x: float) -> Any:
        y = x
        return locals()

    def hiding(self, x: float) -> float:
        __y = x
        print(__y)
        return x

    def rebinding(self, x: float) -> float:
        self = Net()
        y: float = self(x)
        return y

    def generating(self, x: float) -> Iterator[float]:
        y = x
        yield y


def doubled(x: float) -> float:
    y = 2 * x
    z = y + 1
    print(z)
    return 0.0


def test_a_method_without_its_end_returns_what_the_end_mentions() -> None:
    net = Net()
    cut = beginning_of(net.forward, 2)
    assert cut(1.0) == {"x": 1.0, "y": 4.0, "number": 2.0}
    assert cut(-1.0, factor=5.0)["late"] == -1.0
    assert cut.__self__ is net
    assert getattr(net, f"{PREFIX}forward") == cut


def test_a_function_without_its_end() -> None:
    assert beginning_of(doubled, 2)(2.0) == {"z": 5.0}
    assert beginning_of(doubled, 3)(2.0) == {"y": 4.0}


def importing(x: float) -> float:
    y = math.floor(x)  # noqa: F821
    b, a = y, x
    import math

    return a + b + math.pi


def test_what_the_end_assigns_stays_a_variable() -> None:
    with pytest.raises(UnboundLocalError, match="math"):
        beginning_of(importing, 2)(1.0)


def test_the_order_of_assignments_does_not_count() -> None:
    assert [*beginning_of(swapped, 1)(1.0)] == ["a", "b"]


def swapped(x: float) -> float:
    b = x
    a = x
    return a + b


class Layered(torch.nn.Module):
    """Ends with what can't be run."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x) * x.size(0)
        raise ValueError(y)


def test_the_beginning_of_a_method_can_be_traced() -> None:
    net = Layered()
    cut, tracer = beginning_of(net.forward, 1), fxcore.Tracer()
    tracer.traced_func_name = cut.__name__
    traced, x = fxcore.GraphModule(net, tracer.trace(net)), torch.rand(3, 4)
    assert torch.equal(traced(x)["y"], cut(x)["y"])


def test_what_cannot_be_cut_off() -> None:
    net = Net()
    assert beginning_of(doubled, 0) is None
    assert beginning_of(doubled, 4) is None
    assert beginning_of(net.reading_all, 1) is None
    assert beginning_of(net.generating, 1) is None
    assert beginning_of(net.hiding, 2) is None
    assert beginning_of(MethodType(doubled, Net), 2) is None
    assert beginning_of(net.rebinding, 1) is None
    assert beginning_of(torch.no_grad()(doubled), 1) is None
    assert beginning_of(len, 1) is None
