"""Groups of nodes are fused as torch.fx fuses them."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
import torch
import torch.fx.passes.utils.fuser_utils as theirs
from torch import nn

import fxcore
import fxcore.passes.utils.fuser_utils as ours
from tests.core.oracle import assert_same_graph, assert_same_values, attempt, rows
from tests.core.versions import TORCH

from .models import Branches, image, random_graph

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


@pytest.mark.parametrize("seed", range(60))
def test_sorting_and_validating(seed: int) -> None:
    results = []
    for fx, module in LIBRARIES:
        rng = random.Random(seed)
        nodes = list(random_graph(fx, seed, 20).graph.nodes)
        order = {node: index for index, node in enumerate(nodes)}
        picked = rng.sample(nodes[:-1], rng.randint(2, 6))
        ordered = [node.name for node in module.topo_sort(picked)]
        if TORCH < (2, 13):  # torch.fx's order was another one
            ordered.sort()
        results.append((ordered, module.validate_partition(picked)))
        if module is ours:
            assert module.validate_partition(picked, order) == module.validate_partition(picked)
    assert results[0] == results[1]


def test_sorting_a_circle() -> None:
    for fx, module in LIBRARIES:
        relu, neg = list(fx.symbolic_trace(lambda x: torch.neg(torch.relu(x))).graph.nodes)[1:3]
        relu.args = (neg,)
        with pytest.raises(AssertionError):
            module.topo_sort([relu, neg])


@pytest.mark.parametrize("always_return_tuple", [False, True])
@pytest.mark.parametrize("names", [["add"], ["block_0", "block_1"], ["add_1", "chunk"], ["add", "sigmoid"]])
def test_one_group_is_fused_as_in_torch_fx(names: list[str], always_return_tuple: bool) -> None:
    model = Branches().eval()
    fused = []
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(model)
        nodes = [node for node in traced.graph.nodes if node.name in names]
        for node in traced.graph.nodes:
            node.meta["note"] = node.name
        made, inputs, outputs = module.fuse_as_graphmodule(
            traced, nodes, "Part", always_return_tuple=always_return_tuple
        )
        module.insert_subgm(traced, made, inputs, outputs)
        module.erase_nodes(traced, nodes)
        traced.graph.lint()
        traced.recompile()
        notes = [(node.name, node.meta.get("note")) for node in (*traced.graph.nodes, *made.graph.nodes)]
        fused.append((traced, made, list(map(str, inputs)), list(map(str, outputs)), notes))
    assert_same_graph(fused[0][0], fused[1][0])
    assert_same_graph(fused[0][1], fused[1][1])
    assert fused[0][2:] == fused[1][2:]
    assert list(fused[0][1].state_dict()) == list(fused[1][1].state_dict())
    assert_same_values(fused[0][0](image())[0], model(image())[0])


@pytest.mark.parametrize("always_return_tuple", [False, True])
def test_several_groups(always_return_tuple: bool) -> None:
    groups = [["block_0", "other"], ["sum_1", "mul", "chunk"], ["cat"]]
    fused = []
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(Branches())
        by_name = {node.name: node for node in traced.graph.nodes}
        partitions = [{by_name[name]: None for name in group if name in by_name} for group in groups]
        fused.append(attempt(partial(module.fuse_by_partitions, traced, partitions, "p", always_return_tuple)))
    if isinstance(fused[1], Exception):
        assert type(fused[0]) is type(fused[1])
    else:
        assert_same_graph(*fused)


def test_groups_that_use_each_other_change_nothing() -> None:
    def crossing(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.neg(x)) + torch.tanh(torch.sigmoid(y))

    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(crossing)
        by_name = {node.name: node for node in traced.graph.nodes}
        before = rows(traced.graph)
        groups = [{by_name["neg"]: None, by_name["tanh"]: None}, {by_name["relu"]: None, by_name["sigmoid"]: None}]
        with pytest.raises(AssertionError):
            module.fuse_by_partitions(traced, groups)
        if module is ours:
            assert rows(traced.graph) == before


def test_nodes_that_cannot_be_fused() -> None:
    for fx, module in LIBRARIES:
        traced, other = fx.symbolic_trace(nn.ReLU()), fx.symbolic_trace(nn.ReLU())
        with pytest.raises(AssertionError):
            module.fuse_as_graphmodule(traced, list(other.graph.nodes)[:1], "Part")
        chain = fx.symbolic_trace(lambda x: torch.relu(torch.neg(torch.relu(x))))
        ends = [node for node in chain.graph.nodes if node.name.startswith("relu")]
        with pytest.raises(AssertionError):
            module.fuse_as_graphmodule(chain, ends, "Part")
        dead = chain.graph.call_function(torch.neg, (ends[0],))
        made, inputs, outputs = module.fuse_as_graphmodule(chain, [dead], "Part")
        with pytest.raises(AssertionError):
            module.insert_subgm(chain, made, inputs, outputs)
