"""Nodes are traced back to the calls they come from as by torch.fx."""

from __future__ import annotations

import operator
import random
from typing import Any

import pytest
import torch
import torch.fx.passes.utils.source_matcher_utils as theirs
from torch import nn

import fxcore
import fxcore.passes.utils.source_matcher_utils as ours
from tests.core.versions import TORCH
from tests.ids import same_everywhere

from .models import random_graph

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]
SOURCES: list[Any] = [nn.Linear, nn.Module, torch.relu, operator.add, "linear"]


def annotated(fx: Any, seed: int) -> Any:
    """A random graph whose nodes say, as exporting does, what they come from, as far as torch.fx looks at it."""
    rng = random.Random(seed)
    traced = random_graph(fx, seed, 25)
    for node in traced.graph.nodes:
        kind = rng.randrange(6)
        name = f"call_{rng.randrange(4)}"
        if kind == 0:
            node.meta["source_fn_stack"] = [("outer", nn.ReLU), (name, rng.choice(SOURCES[:4]))]
        elif kind == 1 and TORCH >= (2, 8):
            node.meta["torch_fn"] = (name, rng.choice(["function.linear", "function.other"]))
        if kind in (1, 2, 3) and TORCH >= (2, 13):
            recorded = rng.choice([nn.Linear, "torch.nn.modules.linear.Linear", "some.Other", "linear"])
            node.meta["nn_module_stack"] = {"a": ("a", "outer"), "b": (name, recorded)}
    return traced.graph


def described(found: Any) -> Any:
    """Partitions by name; torch.fx keeps no order of inputs, outputs and parameters."""
    return {
        str(source): [
            [
                [node.name for node in each.nodes],
                each.source,
                *(sorted(node.name for node in part) for part in (each.input_nodes, each.output_nodes, each.params)),
            ]
            for each in partitions
        ]
        for source, partitions in found.items()
    }


def not_relu(node: Any) -> bool:
    return node.target is not torch.relu


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("wanted", [SOURCES, [nn.Module], ["linear", torch.relu]], ids=same_everywhere)
@pytest.mark.parametrize("filtered", [False, True])
def test_partitions(seed: int, wanted: list[Any], filtered: bool) -> None:
    found = [
        module.get_source_partitions(annotated(fx, seed), wanted, not_relu if filtered else None)
        for fx, module in LIBRARIES
    ]
    assert described(found[0]) == described(found[1])
    flat = [[each for partitions in result.values() for each in partitions] for result in found]
    connected = [
        [module.check_subgraphs_connected(one, other) for one in partitions for other in partitions]
        for (_, module), partitions in zip(LIBRARIES, flat, strict=True)
    ]
    assert connected[0] == connected[1]
