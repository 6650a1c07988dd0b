"""Targets are replaced and sizes told as by torch.fx."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import torch.fx.passes.graph_manipulation as theirs
import torch.fx.passes.shape_prop
from torch import nn

import fxcore
import fxcore.passes.graph_manipulation as ours
import fxcore.passes.shape_prop
from tests.core.oracle import assert_same_graph, attempt

from .models import Branches, image, resnet

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


@pytest.mark.parametrize(
    "change",
    [
        ("call_function", torch.sigmoid, "call_function", torch.tanh),
        ("call_function", torch.sigmoid, "call_method", "tanh"),
        ("call_module", "block.0", "call_module", "other"),
        ("call_method", "sum", "call_method", "mean"),
        ("call_method", "nothing of this name", "call_method", "mean"),
    ],
)
def test_replacing_targets(change: Any) -> None:
    results = []
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(Branches())
        for node in traced.graph.nodes:
            node.meta["note"] = node.name
        module.replace_target_nodes_with(traced, *change)
        results.append((traced, [node.meta.get("note") for node in traced.graph.nodes]))
    assert_same_graph(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


class Quantized(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize()


@pytest.mark.usefixtures("first_format")
@pytest.mark.parametrize(
    ("make", "value"),
    [(resnet, torch.ones(1, 3, 64, 64)), (Quantized, torch.ones(2, 3))],
    ids=["resnet18", "quantized"],
)
def test_sizes(make: Any, value: torch.Tensor) -> None:
    model = make()
    sizes = []
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(model)
        module.get_size_of_all_nodes(traced, [value])
        nodes = [node for node in traced.graph.nodes if node.op != "output"]
        sizes.append([(node.name, tuple(node.size_bytes), tuple(module.get_tensor_meta(node))) for node in nodes])
    assert sizes[0] == sizes[1]


def test_what_has_no_size() -> None:
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(Branches())
        node = next(iter(traced.graph.nodes))
        with pytest.raises(RuntimeError):
            module.get_tensor_meta(node)
        with pytest.raises(RuntimeError):
            module.get_size_of_node(traced, node)
        fx.passes.shape_prop.ShapeProp(traced).propagate(image())
        assert module.get_size_of_node(traced, node) == (2 * 3 * 8 * 8 * 4,) * 2
        assert isinstance(attempt(partial(module.get_size_of_all_nodes, traced)), Exception)
