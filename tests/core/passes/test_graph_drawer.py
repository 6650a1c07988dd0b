"""Drawings are those of torch.fx, except the boxes of parameters and buffers."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
import torch.fx.passes.graph_drawer
import torch.fx.passes.shape_prop
from torch import nn

import fxcore
import fxcore.passes.graph_drawer
import fxcore.passes.shape_prop

from .models import Branches, image, resnet

LIBRARIES: list[Any] = [fxcore, torch.fx]

OPTIONS: list[dict[str, Any]] = [
    {},
    {"ignore_getattr": True},
    {"skip_node_names_in_args": False},
    {"normalize_args": True},
    {"normalize_args": True, "skip_node_names_in_args": False},
    {"dot_graph_shape": "box"},
]


class Quantized(nn.Module):
    def forward(self, x: Any) -> Any:
        scales, zeros = torch.tensor([0.1, 0.2]), torch.tensor([0, 1])
        by_channel = torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)
        return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), by_channel, {"{braces}": [x, (x,)]}


class Joined(Branches):
    """torch.fx does not draw numbers in results."""

    def forward(self, x: Any, factor: float = 2.0) -> Any:
        return super().forward(x, factor)[0]


MODELS: dict[str, tuple[Any, torch.Tensor]] = {
    "branches": (Joined, image()),
    "resnet18": (resnet, torch.ones(1, 3, 64, 64)),
    "quantized": (Quantized, torch.ones(2, 3)),
}


def drawer(fx: Any, model: Any, value: torch.Tensor | None, **options: Any) -> Any:
    traced = fx.symbolic_trace(model)
    if value is not None:
        fx.passes.shape_prop.ShapeProp(traced).propagate(value)
    return fx.passes.graph_drawer.FxGraphDrawer(traced, "drawing", **options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("propagated", [True, False])
def test_drawings(model: str, options: dict[str, Any], propagated: bool) -> None:
    pytest.importorskip("pydot")
    make, value = MODELS[model]
    root = make()
    mine, reference = [
        drawer(fx, root, value if propagated else None, ignore_parameters_and_buffers=True, **options)
        .get_dot_graph()
        .to_string()
        for fx in LIBRARIES
    ]
    assert mine == reference


def test_parameters_and_buffers() -> None:
    pytest.importorskip("pydot")
    drawings = [drawer(fx, nn.Sequential(nn.BatchNorm2d(4)), None).get_dot_graph() for fx in LIBRARIES]
    edges = [[(edge.get_source(), edge.get_destination()) for edge in each.get_edges()] for each in drawings]
    assert edges[0] == edges[1]
    labels = {node.get_name(): node.get_label() for node in drawings[0].get_nodes()}
    assert "op_code=get_parameter" in labels["_0.weight"]
    assert "_0.running_mean|op_code=get_buffer" in labels["_0.running_mean"]


def test_graph_modules_that_are_called() -> None:
    pytest.importorskip("pydot")
    drawings = []
    for fx in LIBRARIES:
        graph = fx.Graph()
        graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
        outer = fx.GraphModule({"inner": fx.symbolic_trace(nn.Sequential(nn.ReLU()))}, graph)
        made = fx.passes.graph_drawer.FxGraphDrawer(outer, "drawing")
        assert made.get_dot_graph("inner") is made.get_submod_dot_graph("inner")
        drawings.append({name: each.to_string() for name, each in made.get_all_dot_graphs().items()})
    assert list(drawings[0]) == list(drawings[1]) == ["drawing", "drawing_inner"]
    assert drawings[0]["drawing_inner"] == drawings[1]["drawing_inner"]
    assert "fxcore.graph_module.GraphModule" in drawings[0]["drawing"]


def test_numbers_among_results() -> None:
    pytest.importorskip("pydot")
    text = drawer(fxcore, Branches(), image()).get_dot_graph().to_string()
    assert "|dtype=torch.float32" in text


def test_source_lines() -> None:
    pytest.importorskip("pydot")
    tracer = fxcore.Tracer()
    tracer.record_stack_traces = True
    root = Branches()
    traced = fxcore.GraphModule(root, tracer.trace(root))
    text = fxcore.passes.graph_drawer.FxGraphDrawer(traced, "d", parse_stack_trace=True).get_dot_graph().to_string()
    assert "|file=passes/models.py:" in text


def test_without_pydot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydot", None)
    with pytest.raises(RuntimeError, match="pydot"):
        fxcore.passes.graph_drawer.FxGraphDrawer(fxcore.symbolic_trace(nn.ReLU()), "drawing")
