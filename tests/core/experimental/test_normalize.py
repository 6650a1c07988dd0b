"""normalize and schema_type_annotation against torch.fx: the same code after the transformation."""

import operator
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.normalize as theirs
import torch.fx.experimental.schema_type_annotation as their_annotation
import torch.nn.functional as F
from torch.fx.passes.shape_prop import ShapeProp as TheirShapeProp

import fxcore.experimental.normalize as ours
import fxcore.experimental.schema_type_annotation as our_annotation
from fxcore._symbolic_trace import symbolic_trace
from fxcore.passes.shape_prop import ShapeProp
from tests.core.code_text import code_of
from tests.zoo import torchvision


class Calls(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(3))
        self.steps = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Dropout(), torch.nn.MaxPool1d(1)])
        self.count: torch.Tensor
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x: torch.Tensor) -> Any:
        for step in self.steps:
            x = step(x)
        x = F.max_pool1d(F.dropout(F.relu(x), 0.3, self.training), 1)
        x = torch.add(torch.mul(x, self.weight), 2) + torch.add(x, x, alpha=2) - torch.sub(x, self.count)
        flat = torch.flatten(torch.cat([x, x], dim=1), 1)
        return torch.div(flat, 2), torch.eq(flat, flat), torch.clamp(input=flat, min=0.0), flat.sum(dim=1)


def models() -> list[torch.nn.Module]:
    zoo = torchvision.models
    return [Calls().eval(), zoo.resnet18().eval(), zoo.mobilenet_v3_small().eval(), zoo.shufflenet_v2_x0_5().eval()]


def shaped(model: torch.nn.Module) -> tuple[Any, Any, torch.Tensor]:
    x = torch.rand(2, 3, 3) if isinstance(model, Calls) else torch.rand(1, 3, 64, 64)
    mine, reference = symbolic_trace(model), torch.fx.symbolic_trace(model)
    ShapeProp(mine).propagate(x)
    TheirShapeProp(reference).propagate(x)
    return mine, reference, x


@pytest.mark.parametrize("only_kwargs", [True, False])
@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_arguments(model: torch.nn.Module, only_kwargs: bool) -> None:
    mine, reference, x = shaped(model)
    normal = ours.NormalizeArgs(mine, only_kwargs).transform()
    assert code_of(normal) == code_of(theirs.NormalizeArgs(reference, only_kwargs).transform())
    assert normal.code != mine.code
    torch.testing.assert_close(normal(x), model(x), rtol=0, atol=0)


def test_arguments_without_types() -> None:
    traced = symbolic_trace(lambda x: torch.relu(input=x))
    assert ours.NormalizeArgs(traced).transform().code == traced.code
    ambiguous = symbolic_trace(Calls())
    # The type of an argument is missing, so no overload is certain and the call stays.
    assert "torch.mul(max_pool1d, weight)" in ours.NormalizeArgs(ambiguous).transform().code


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_annotations(model: torch.nn.Module) -> None:
    mine, reference = symbolic_trace(model), torch.fx.symbolic_trace(model)
    for options in [{}, {"annotate_modules": False}, {"annotate_functionals": False}, {"annotate_get_attrs": False}]:
        annotated = our_annotation.AnnotateTypesWithSchema(mine, **options).transform()
        expected = their_annotation.AnnotateTypesWithSchema(reference, **options).transform()
        assert code_of(annotated) == code_of(expected)
        assert [node.type for node in annotated.graph.nodes] == [node.type for node in expected.graph.nodes]
    assert any(node.type is torch.Tensor for node in annotated.graph.nodes)


def test_types_that_are_found() -> None:
    annotated = our_annotation.AnnotateTypesWithSchema(symbolic_trace(Calls())).transform()
    types = {node.name: node.type for node in annotated.graph.nodes}
    assert [types[name] for name in ("steps_0", "weight", "count", "relu")] == [torch.Tensor] * 4
    assert types["mul"] is None


OPERATORS = list(ours.NormalizeOperators.binary_magic_method_remap.items())


@pytest.mark.parametrize(("function", "spelling"), OPERATORS, ids=lambda f: f.__name__)
def test_operators(function: Any, spelling: Any) -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> Any:
        return function(x, y), function(x, 2)

    mine = ours.NormalizeOperators(symbolic_trace(call)).transform()
    assert code_of(mine) == code_of(theirs.NormalizeOperators(torch.fx.symbolic_trace(call)).transform())
    assert [node.target for node in mine.graph.nodes if node.op == "call_function"] == [spelling, spelling]


def test_operators_keep_other_arguments() -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.add(x, y, alpha=2) + torch.div(x, y, rounding_mode="floor")

    mine = ours.NormalizeOperators(symbolic_trace(call)).transform()
    x, y = torch.rand(3), torch.rand(3)
    torch.testing.assert_close(mine(x, y), call(x, y), rtol=0, atol=0)
    targets = [node.target for node in mine.graph.nodes if node.op == "call_function"]
    assert targets == [torch.add, torch.div, operator.add]
