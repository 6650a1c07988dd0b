"""The places of nodes are those of a full search of the stack, though a trace searches each module's call only once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import fxcore
from fxcore.source import Place, user_place
from fxcore.tracer import TRACE_CODE


class Searching(fxcore.Tracer):
    """Notes each node's place, and the place that a full search of the stack finds for it."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[Place | None, Place | None]] = []

    def place(self) -> Place | None:
        found = super().place()
        self.places.append((found, user_place(sys._getframe(1), TRACE_CODE, self._own_code)))
        return found


class Users(nn.Module):
    """Has two lines of the user's between its caller and its layers."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(x) + 1
        result: Tensor = self.layer(x)
        return result


class InnerTrace(nn.Module):
    """Uses its input while it traces another module."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nested(nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        made: list[Tensor] = []

        def inner(y: Tensor) -> Tensor:
            made.append(x + 1)
            return torch.relu(y)

        fxcore.symbolic_trace(nn.Sequential(nn.Sequential(Calling(inner))))
        result: Tensor = self.layer(made[0])
        return result


class Calling(nn.Module):
    """Calls ``function``."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def nested(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Sequential(*layers), nn.ReLU(), nn.Sequential(nn.Sequential(*layers)))


def generated(x: Tensor) -> Tensor:
    layers = nested(nn.ReLU(), nn.ReLU())
    values = (torch.relu(value) for value in [x, x])
    return torch.cat([*values, x]) + len(list(layers.children()))


MODULES: dict[str, Callable[[], nn.Module]] = {
    "layers in containers": lambda: Users(nested(nn.ReLU(), nn.Linear(4, 4))),
    "the user's modules in containers": lambda: nested(Users(nested(nn.ReLU())), nn.ReLU()),
    "containers alone": lambda: nested(nn.ReLU()),
    "a generator": lambda: nested(Calling(generated), nn.ReLU()),
    "a trace in a trace": lambda: nested(InnerTrace(), nn.ReLU()),
}


@pytest.mark.parametrize("name", MODULES)
def test_each_node_has_the_place_that_a_full_search_finds(name: str) -> None:
    tracer = Searching()
    tracer.trace(MODULES[name]())
    assert len(tracer.places) >= 4
    for found, searched in tracer.places:
        assert found == searched


def test_a_layer_is_placed_where_the_user_called_its_container() -> None:
    graph = fxcore.Tracer().trace(Users(nested(nn.ReLU(), nn.ReLU())))
    first = Users.forward.__code__.co_firstlineno
    lines = [node.span.line - first for node in graph.nodes if node.span is not None]
    assert lines == [1] * 6 + [2] * 5


def test_the_same_tracer_is_used_after_a_failure() -> None:
    def fail(x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    tracer: Any = fxcore.Tracer()
    with pytest.raises(fxcore.failures.TraceFailure):
        tracer.trace(nested(Calling(fail)))
    graph = tracer.trace(Users(nn.ReLU()))
    first = Users.forward.__code__.co_firstlineno
    assert [node.span.line - first for node in graph.nodes if node.span is not None] == [1, 1, 2]
