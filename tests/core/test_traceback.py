"""Nodes inherit from older ones, and are annotated, where torch.fx's do and are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.traceback
from torch import Tensor, nn

import fxcore
import fxcore.traceback

LIBRARIES: list[Any] = [fxcore, torch.fx]
NOTED = ("custom", "partitioner_tag", "stack_trace", "shape_of_my_own")


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.linear(x)) + 1


def noted(graph: Any) -> list[tuple[str, dict[str, Any]]]:
    """What there is under keys that both libraries know, and one that is never inherited."""
    return [(node.name, {key: node.meta[key] for key in NOTED if node.meta.get(key)}) for node in graph.nodes]


def marked(fx: Any) -> Any:
    module = fx.symbolic_trace(Two())
    for number, node in enumerate(module.graph.nodes):
        node.meta.update(custom={"number": number}, partitioner_tag=f"tag{number}", shape_of_my_own=number)
        node.stack_trace = f'File "model.py", line {number}, in forward'
    return module


def retraced(fx: Any, preserve: bool) -> Any:
    """The graph that an interpreter running on proxies records."""
    tracer = fx.Tracer()
    tracer.root, tracer.graph = marked(fx), fx.Graph()
    x = fx.Proxy(tracer.graph.placeholder("x"), tracer)

    class Record(fx.Interpreter):  # type: ignore[misc]
        def call_module(self, target: str, args: Any, kwargs: Any) -> Any:
            return tracer.create_proxy("call_module", target, args, kwargs)

    with fx.traceback.preserve_node_meta(preserve):
        Record(tracer.root).run(x)
    return tracer.graph


@pytest.mark.parametrize("preserve", [True, False])
def test_an_interpreter_on_proxies(preserve: bool) -> None:
    ours, theirs = [noted(retraced(fx, preserve)) for fx in LIBRARIES]
    assert ours == theirs
    assert any(meta for _, meta in ours) == preserve


def test_a_transformer() -> None:
    ours, theirs = [noted(fx.Transformer(marked(fx)).transform().graph) for fx in LIBRARIES]
    assert ours == theirs


def test_the_place_is_inherited() -> None:
    module = fxcore.symbolic_trace(Two())
    transformed = fxcore.Transformer(module).transform()
    spans = {node.name: node.span for node in module.graph.nodes if node.op != "placeholder"}
    assert {n.name: n.span for n in transformed.graph.nodes if n.op not in ("placeholder", "output")} == {
        name: span for name, span in spans.items() if name != "output"
    }


def annotated(fx: Any, preserve: bool) -> Any:
    @fx.traceback.annotate_fn({"stage": 1, "kind": "inner"})  # type: ignore[untyped-decorator]
    def inner(x: Any) -> Any:
        return x * 2

    def outer(x: Any) -> Any:
        with fx.traceback.annotate({"stage": 0, "name": "outer"}):
            x = inner(x + 1) + 3
        return x - 4

    with fx.traceback.preserve_node_meta(preserve):
        return fx.symbolic_trace(outer).graph


@pytest.mark.parametrize("preserve", [True, False])
def test_annotations_nest(preserve: bool) -> None:
    ours, theirs = [noted(annotated(fx, preserve)) for fx in LIBRARIES]
    assert ours == theirs


def test_a_stack_that_is_set() -> None:
    seen = []
    for fx in LIBRARIES:
        graph = fx.Graph()
        x = fx.Proxy(graph.placeholder("x"))
        with fx.traceback.preserve_node_meta():
            fx.traceback.set_stack_trace(['File "a.py", line 1\n', "  x + 1\n"])
            x = x + 1
            seen.append(fx.traceback.format_stack())
            fx.traceback.set_stack_trace([])
            x = x + 2
        assert not fx.traceback.has_preserved_node_meta()
        assert not fx.traceback.get_current_meta()
        seen.append(noted(graph))
    assert seen[:2] == seen[2:]


def test_without_one_the_callers_stack_is_shown() -> None:
    assert "test_without_one_the_callers_stack_is_shown" in fxcore.traceback.format_stack()[-1]
