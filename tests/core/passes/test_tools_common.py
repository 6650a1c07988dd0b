"""What passes for accelerators share gives the same names, groups and orders as torch.fx's."""

from __future__ import annotations

import operator
import random
from functools import partial
from typing import Any

import pytest
import torch
import torch.fx.passes.shape_prop
import torch.fx.passes.tools_common as theirs
from torch import nn

import fxcore
import fxcore.passes.shape_prop
import fxcore.passes.tools_common as ours
from tests.core.oracle import attempt, rows
from tests.ids import same_everywhere

from .models import Branches, image, random_graph

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


def acc_op() -> None:
    """An operation of an accelerator, by the name of its module."""


acc_op.__module__ = "vendor.acc_ops"


@pytest.mark.parametrize("kind", ["a string", nn.Linear, acc_op, torch.ops.aten.add.Tensor], ids=same_everywhere)
def test_names_of_types(kind: Any) -> None:
    assert ours.get_acc_ops_name(kind) == theirs.get_acc_ops_name(kind)


def test_names_of_targets() -> None:
    def names(fx: Any, tools: Any) -> list[Any]:
        traced = fx.symbolic_trace(Branches())
        with traced.graph.inserting_before(traced.graph.output_node()):
            traced.graph.call_function(acc_op)
            traced.graph.call_function(torch.ops.aten.add.Tensor)
        submodules = dict(traced.named_modules())
        found = [attempt(partial(tools.get_node_target, submodules, node)) for node in traced.graph.nodes]
        return [type(name) if isinstance(name, Exception) else name for name in found]

    mine, reference = [names(*library) for library in LIBRARIES]
    assert mine == reference
    assert "torch.chunk" in mine
    assert AssertionError in mine


def test_which_nodes_yield_tensors() -> None:
    found = []
    for fx, tools in LIBRARIES:
        traced = fx.symbolic_trace(Branches())
        before = [tools.is_node_output_tensor(node) for node in traced.graph.nodes]
        fx.passes.shape_prop.ShapeProp(traced).propagate(image())
        found.append((before, [tools.is_node_output_tensor(node) for node in traced.graph.nodes]))
    assert found[0] == found[1]
    assert True in found[0][1]
    assert True not in found[0][0]


def shuffled(fx: Any, seed: int) -> Any:
    """A random graph whose nodes are no longer in topological order, with assertions on sizes among them."""
    traced = random_graph(fx, seed, 25)
    rng = random.Random(seed)
    nodes = list(traced.graph.nodes)
    with traced.graph.inserting_before(nodes[-1]):
        for _ in range(3):
            nodes.insert(-1, traced.graph.call_function(operator.ge, (rng.choice(nodes[:-1]), 0)))
    for _ in range(20):
        rng.choice(nodes).prepend(rng.choice(nodes))
    return traced


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("sort", ["legalize_graph", "stable_topological_sort"])
def test_sorting(seed: int, sort: str) -> None:
    mine, reference = [getattr(tools, sort)(shuffled(fx, seed)) for fx, tools in LIBRARIES]
    assert rows(mine.graph) == rows(reference.graph)
    mine.graph.lint()


@pytest.mark.parametrize("sort", ["legalize_graph", "stable_topological_sort"])
def test_sorting_a_circle(sort: str) -> None:
    errors = []
    for fx, tools in LIBRARIES:
        traced = fx.symbolic_trace(lambda x: torch.neg(torch.relu(x)))
        relu, neg = list(traced.graph.nodes)[1:3]
        relu.args = (neg,)
        errors.append(type(attempt(partial(getattr(tools, sort), traced))))
    assert errors[0] is errors[1]
    assert issubclass(errors[0], Exception)


@pytest.mark.parametrize("seed", range(120))
def test_fusion_groups(seed: int) -> None:
    def groups(fx: Any, tools: Any) -> Any:
        traced = random_graph(fx, seed, 25)
        rng = random.Random(seed)
        accelerated = set()
        for node in traced.graph.nodes:
            if rng.random() < 0.75:
                node.meta["tensor_meta"] = "some"
            if rng.random() < 0.95 and node.op == "call_function":
                accelerated.add(node)
        found = tools.FxNetAccFusionsFinder(traced, accelerated)()
        return {str(node): set(map(str, group)) for node, group in found.items()}, set(map(str, accelerated))

    mine, reference = [groups(*library) for library in LIBRARIES]
    # What torch.fx finds may depend on where its nodes lie in memory, because it iterates over sets of them.
    kept: list[list[object]] = []
    while mine != reference and len(kept) < 50:
        kept.append([object() for _ in range(len(kept))])
        reference = groups(*LIBRARIES[1])
    assert mine == reference
