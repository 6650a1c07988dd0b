"""Subgraphs are lifted, and graphs compared, as by torch.fx."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.utils as theirs
from torch import nn

import fxcore
import fxcore.passes.utils as ours
from tests.core.oracle import assert_same_graph

from .models import Branches, resnet

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


@pytest.mark.parametrize("make", [Branches, resnet], ids=["branches", "resnet18"])
def test_lifting_a_whole_graph(make: Any) -> None:
    model = make()
    lifted = []
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(model)
        copied = fx.Graph()
        copied.output(copied.graph_copy(traced.graph, {}))
        lifted.append(module.lift_subgraph_as_module(traced, copied, "part", "Part"))
    (mine, names), (reference, expected) = lifted
    assert_same_graph(mine, reference)
    assert names == expected
    assert type(mine).__name__ == "Part"
    assert list(mine.state_dict()) == list(reference.state_dict())
    assert all(value is model.get_parameter(name) for name, value in mine.named_parameters())


def test_holder() -> None:
    for _, module in LIBRARIES:
        holder = module.HolderModule({"a": nn.ReLU(), "b": None})
        assert [name for name, _ in holder.named_children()] == ["a"]
        assert holder.b is None


def deep(x: Any) -> Any:
    for _ in range(3000):
        x = torch.relu(x)
    return x


def test_comparing_graphs_deeper_than_the_stack() -> None:
    graph = fxcore.symbolic_trace(deep).graph
    assert ours.compare_graphs(graph, fxcore.symbolic_trace(deep).graph)
    graph.find_nodes(op="call_function", target=torch.relu)[1500].target = torch.neg
    assert not ours.compare_graphs(graph, fxcore.symbolic_trace(deep).graph)


def add_then_relu(x: Any, y: Any) -> Any:
    return torch.relu(x + y)


def add_then_relu_differently_named(left: Any, right: Any) -> Any:
    total = left + right
    return torch.relu(total)


def swapped(x: Any, y: Any) -> Any:
    return torch.relu(y + x)


def more(x: Any, y: Any) -> Any:
    return torch.relu(x + y), x


def add_then_neg(x: Any, y: Any) -> Any:
    return torch.neg(x + y)


PROGRAMS = [add_then_relu, add_then_relu_differently_named, swapped, more, add_then_neg]


@pytest.mark.parametrize("left", PROGRAMS)
@pytest.mark.parametrize("right", PROGRAMS)
def test_comparing(left: Any, right: Any) -> None:
    mine, reference = [
        module.compare_graphs(fx.symbolic_trace(left).graph, fx.symbolic_trace(right).graph) for fx, module in LIBRARIES
    ]
    assert mine == reference
    assert mine or left is not right
