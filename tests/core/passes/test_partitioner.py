"""The partitioner proposes the partitions that torch.fx's proposes, unless those make a circle."""

from __future__ import annotations

import operator
import random
from typing import Any

import pytest
import torch
import torch.fx.passes.infra.partitioner
import torch.fx.passes.operator_support
from torch import nn

import fxcore
import fxcore.passes.infra.partitioner
import fxcore.passes.operator_support
from fxcore.passes.topology import partitions_are_acyclic
from tests.core.code_text import codes_of
from tests.core.oracle import assert_same_values
from tests.core.versions import TORCH

from .models import random_graph, resnet

LIBRARIES: list[Any] = [fxcore, torch.fx]


def partitioner(fx: Any, traced: Any, names: set[str], **options: Any) -> Any:
    """A partitioner for the nodes that have one of ``names``."""
    support = fx.passes.operator_support.create_op_support(lambda submodules, node: node.name in names)
    return fx.passes.infra.partitioner.CapabilityBasedPartitioner(traced, support, **options)


def listed(partitions: Any) -> list[Any]:
    """Partitions as text; older ones of torch.fx don't keep the order of their nodes, or are numbered otherwise."""
    if TORCH < (2, 8):
        return sorted(sorted(node.name for node in each.nodes) for each in partitions)
    if TORCH < (2, 13):
        return [(each.id, sorted(node.name for node in each.nodes)) for each in partitions]
    return [(each.id, [(node.name, order) for node, order in each.nodes.items()]) for each in partitions]


def supported_names(seed: int) -> set[str]:
    rng = random.Random(seed)
    share = rng.choice([0.3, 0.6, 0.9])
    graph = random_graph(fxcore, seed, 25).graph
    return {node.name for node in graph.nodes if node.op == "call_function" and rng.random() < share}


@pytest.mark.parametrize("skip_horizontal_fusion", [False, True] if TORCH >= (2, 13) else [False])
@pytest.mark.parametrize("seed", range(150))
def test_random_graphs(seed: int, skip_horizontal_fusion: bool) -> None:
    options: dict[str, bool] = {"allows_single_node_partition": seed % 2 == 0}
    if skip_horizontal_fusion:
        options["skip_horizontal_fusion"] = True
    names = supported_names(seed)
    mine, reference = [partitioner(fx, random_graph(fx, seed, 25), names, **options) for fx in LIBRARIES]
    partitions = mine.propose_partitions()
    expected = reference.propose_partitions()
    graph = reference.graph_module.graph
    if not partitions_are_acyclic([list(each.nodes) for each in expected], graph.nodes):
        pytest.skip("torch.fx's partitions use each other in a circle")
    assert listed(partitions) == listed(expected)
    ours, theirs = mine.fuse_partitions(partitions), reference.fuse_partitions(expected)
    if TORCH >= (2, 13):
        assert codes_of(ours) == codes_of(theirs)


def diamond_with_items(fx: Any) -> Any:
    graph = fx.Graph()
    x = graph.placeholder("x")
    pair = graph.call_function(torch.chunk, (x, 2))
    first, second = (graph.call_function(operator.getitem, (pair, index)) for index in range(2))
    inner = graph.call_function(operator.getitem, (first, 0))
    left = graph.call_function(torch.relu, (inner,))
    right = graph.call_function(torch.neg, (second,))
    graph.output(graph.call_function(torch.add, (left, right)))
    return fx.GraphModule(nn.Module(), graph)


@pytest.mark.parametrize("names", [{"chunk", "relu"}, {"relu", "neg", "add", "getitem"}, {"getitem_1", "getitem_2"}])
@pytest.mark.parametrize("single", [False, True])
def test_items_go_with_their_tuple(names: set[str], single: bool) -> None:
    mine, reference = [
        partitioner(fx, diamond_with_items(fx), names, allows_single_node_partition=single).propose_partitions()
        for fx in LIBRARIES
    ]
    assert listed(mine) == listed(reference)


@pytest.mark.parametrize(
    "options",
    [{"non_compute_ops": ["torch.neg"]}, {"allowed_single_node_partition_ops": ["torch.relu"]}, {}],
    ids=str,
)
def test_small_partitions(options: dict[str, Any]) -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.sigmoid(torch.neg(torch.relu(torch.sigmoid(x)))))

    names = {"relu", "neg", "relu_1"}
    mine, reference = [
        partitioner(fx, fx.symbolic_trace(chain), names, **options).propose_partitions() for fx in LIBRARIES
    ]
    assert listed(mine) == listed(reference)


@pytest.mark.parametrize("seed", range(40))
def test_bookends(seed: int) -> None:
    names = supported_names(seed)
    results = []
    for fx in LIBRARIES:
        made = partitioner(
            fx,
            random_graph(fx, seed, 25),
            names,
            allows_single_node_partition=True,
            non_compute_ops=["torch.relu", "_operator.getitem"],
        )
        partitions = made.propose_partitions()
        made.remove_bookend_non_compute_ops(partitions)
        results.append(listed(partitions))
    assert results[0] == results[1]


def test_resnet() -> None:
    class Rectifiers(fxcore.passes.operator_support.OperatorSupportBase):
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            return node.op == "call_function" or isinstance(submodules.get(node.target), nn.ReLU | nn.BatchNorm2d)

    model = resnet()
    ours, theirs = [
        fx.passes.infra.partitioner.CapabilityBasedPartitioner(
            fx.symbolic_trace(model), Rectifiers(), allows_single_node_partition=True
        ).partition_and_fuse("part_")
        for fx in LIBRARIES
    ]
    assert codes_of(ours) == codes_of(theirs)
    x = torch.ones(1, 3, 64, 64)
    assert_same_values(ours(x), theirs(x))
    assert_same_values(ours(x), model(x))


def test_partition() -> None:
    nodes = list(fxcore.symbolic_trace(nn.ReLU()).graph.nodes)
    for fx in LIBRARIES:
        partition = fx.passes.infra.partitioner.Partition
        made = partition(3, nodes[:2], [5, 4])
        made.add_node(nodes[2], 7)
        made.remove_node(nodes[0])
        assert made.id == 3
        assert made.nodes == {nodes[1]: 4, nodes[2]: 7}
        assert made.size() == 2
        assert str(nodes[1]) in repr(made)
        with pytest.raises(AssertionError):
            partition(None, nodes, [1])
