"""rewriter and annotate against torch.fx: the same graphs from code that can't be traced as it stands."""

import ast
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.rewriter as theirs

import fxcore.annotate as our_annotate
import fxcore.experimental.rewriter as ours
from fxcore._symbolic_trace import Tracer, symbolic_trace
from fxcore.failures import TraceError
from fxcore.graph_module import GraphModule
from fxcore.tensor_type import Dyn, TensorType
from tests.core.code_text import code_of

annotate: Any = None
"""What annotated assignments call in a rewritten function; each test puts the one it means."""


class Asserts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.limit = 3

    def forward(self, x: torch.Tensor, scale: float = 2.0) -> Any:
        assert x.dim() == 2, "two dimensions"
        assert x.sum() < self.limit * 100
        text = """
that begins at the margin"""
        return self.linear(x) * scale * len(text)


def function(x: torch.Tensor, *, y: int = 3) -> Any:
    assert x.sum() > 0, "positive"
    return x + y


def code(tracer: Any, root: Any) -> str:
    own: Any = GraphModule if isinstance(tracer, Tracer) else torch.fx.GraphModule
    graph = tracer.trace(root)
    return code_of(own(tracer.root, graph))


def test_asserts_are_recorded() -> None:
    with pytest.raises(TraceError):
        symbolic_trace(Asserts())
    assert code(ours.RewritingTracer(), Asserts()) == code(theirs.RewritingTracer(), Asserts())


def test_functions_are_rewritten_too() -> None:
    with pytest.raises(TraceError):
        symbolic_trace(function)
    tracer = ours.RewritingTracer()
    traced = GraphModule(torch.nn.Module(), tracer.trace(function))
    assert traced.code.count("torch._assert(") == 1
    torch.testing.assert_close(traced(torch.ones(2)), torch.full((2,), 4.0))
    with pytest.raises(AssertionError, match="positive"):
        traced(torch.zeros(2))


def test_rewritten_module_runs_like_the_original() -> None:
    model = Asserts()
    before = dict(vars(model))
    tracer = ours.RewritingTracer()
    traced = GraphModule(tracer.root if hasattr(tracer, "root") else model, tracer.trace(model))
    x = torch.rand(2, 3)
    torch.testing.assert_close(traced(x), model(x))
    with pytest.raises(AssertionError, match="two dimensions"):
        traced(x[0])
    assert dict(vars(model)) == before


def test_places_stay_those_of_the_source() -> None:
    lines = Path(__file__).read_text().splitlines()
    line = 1 + next(index for index, text in enumerate(lines) if "return self.linear(x) * scale" in text)
    rewritten = ours.AST_Rewriter().rewrite(Asserts.forward)  # type: ignore[arg-type]
    assert rewritten.__code__.co_filename == __file__
    assert line in {number for _, _, number in rewritten.__code__.co_lines()}


def annotated(x: torch.Tensor) -> Any:
    y: TensorType((1, 2, 3, Dyn)) = torch.relu(x)  # type: ignore[valid-type]
    z: int
    z = 3
    return y + z


def test_annotated_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "annotate", our_annotate.annotate)
    graph = ours.RewritingTracer().trace(annotated)
    types = {node.name: node.type for node in graph.nodes}
    assert types["relu"] == TensorType((1, 2, 3, Dyn))
    assert types["add"] is None


def test_annotating() -> None:
    def twice(x: Any) -> Any:
        return our_annotate.annotate(our_annotate.annotate(x.relu(), int), float)

    with pytest.raises(RuntimeError, match="has the type"):
        symbolic_trace(twice)
    assert our_annotate.annotate(3, int) == 3


def test_own_rewriter() -> None:
    class Swap(ours.AST_Rewriter):
        def visit_Add(self, node: ast.Add) -> ast.AST:
            return ast.copy_location(ast.Sub(), node)

    torch.testing.assert_close(Swap().rewrite(function)(torch.ones(2)), torch.full((2,), -2.0))  # type: ignore[arg-type]
