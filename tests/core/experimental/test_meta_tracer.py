"""meta_tracer against torch.fx: the same code where shapes answer what the program asks."""

import copy
import warnings
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.meta_tracer as theirs

import fxcore.experimental.meta_tracer as ours
from fxcore._symbolic_trace import symbolic_trace
from fxcore.failures import TraceError
from tests.core.code_text import code_of
from tests.zoo import torchvision


class Shapes(torch.nn.Module):
    """Asks for sizes, branches on them, makes tensors of them and calls a module that isn't a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 6, device="meta")
        self.embedding = torch.nn.Embedding(10, 4, device="meta")
        self.norm = torch.nn.LayerNorm(6, device="meta")
        self.bias = torch.nn.Parameter(torch.rand(6, device="meta"))

    def forward(self, index: torch.Tensor) -> Any:
        x = self.norm(self.linear(self.embedding(index)))
        if x.dim() == 3 and x.shape[-1] == 6:
            x = torch.nn.ReLU()(x) + self.bias
        rows, columns, _ = x.size()
        for _ in range(rows):
            x = torch.abs(x) + torch.where(x > 0, x, x)
        mask = torch.zeros(rows, columns, device=x.device)
        steps = torch.arange(x.size(1), device=x.device, dtype=x.dtype)
        return x.reshape(rows * columns, -1).transpose(0, 1), mask, steps, torch.relu(x) + x.relu()


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, device="meta")

    def forward(self, x: torch.Tensor) -> Any:
        y = self.layer(x)
        return y.reshape(y.shape[0] * y.shape[1], -1)


def traced(module: Any, model: Any, meta_args: dict[str, torch.Tensor], **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module.symbolic_trace(model, dict(meta_args), **options)


def test_shapes_answer_questions() -> None:
    model = Shapes()
    inputs = {"index": torch.zeros(2, 3, dtype=torch.long, device="meta")}
    with pytest.raises(TraceError):
        symbolic_trace(model)
    before = set(dict(model.named_modules()))
    mine = traced(ours, model, inputs)
    assert set(dict(model.named_modules())) == before
    reference = traced(theirs, copy.deepcopy(model), inputs)
    assert "relu_0" in mine.code
    assert code_of(mine) == code_of(reference)


def test_size_of_the_first_dimension() -> None:
    def rows(x: torch.Tensor) -> Any:
        return x.sum() * x.size(0)

    mine = traced(ours, rows, {"x": torch.rand(5, 2, device="meta")})
    assert "* 5" in mine.code
    torch.testing.assert_close(mine(torch.ones(5, 2)), torch.tensor(50.0))


def test_torchvision_model() -> None:
    with torch.device("meta"):
        model = torchvision.models.resnet18()
    inputs = {"x": torch.rand(1, 3, 64, 64, device="meta")}
    assert traced(ours, model, inputs).code == traced(theirs, model, inputs).code


def test_unknown_shapes_are_recorded() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x.shape[0] + y.size(1) + y.dim(), y.dtype, torch.zeros(3), y.view(y.size())

    inputs = {"x": torch.rand(5, 2, device="meta")}
    assert traced(ours, function, inputs).code == traced(theirs, function, inputs).code
    with pytest.warns(UserWarning, match="Could not compute metadata for call_function"):
        ours.symbolic_trace(lambda x: torch.cat([x], dim=7), inputs)


def test_constant_arguments() -> None:
    def function(x: torch.Tensor, flag: bool = True) -> Any:
        return x.reshape(x.shape[::-1]) if flag else x

    inputs = {"x": torch.rand(5, 2, device="meta")}
    mine = traced(ours, function, inputs, concrete_args={"flag": True})
    assert code_of(mine) == code_of(traced(theirs, function, inputs, concrete_args={"flag": True}))


def test_inside_of_leaf_modules_is_not_recorded() -> None:
    mine = traced(ours, Inner(), {"x": torch.rand(2, 3, 4, device="meta")})
    assert [node.op for node in mine.graph.nodes] == ["placeholder", "call_module", "call_method", "output"]
    assert "reshape(6, -1)" in mine.code


def test_modules_with_parameters_must_be_submodules() -> None:
    stranger = torch.nn.Linear(2, 2)
    with pytest.raises(NameError):
        ours.symbolic_trace(lambda x: stranger(x), {"x": torch.rand(5, 2, device="meta")})


def test_torch_is_left_as_it_was() -> None:
    before = {name: getattr(torch, name) for name in ours.MetaTracer._TORCH_METHODS_TO_PATCH}
    traced(ours, lambda x: torch.zeros(x.size(1)), {"x": torch.rand(5, 2, device="meta")})
    with pytest.raises(ZeroDivisionError):
        ours.symbolic_trace(lambda x: x / (1 // 0), {})
    assert {name: getattr(torch, name) for name in before} == before
