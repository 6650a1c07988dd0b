"""A traced model as a module of its own."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
import torch
from torch import nn

import fxcore
from fx_lsp.agent.tracing.graph_details import imports_of
from fx_lsp.server.features.standalone_module import standalone
from tests import zoo


def halve(x: Any) -> Any:
    return x / 2 if x.sum() > 0 else x


fxcore.wrap("halve")


def clip(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4))
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 4)))

    def forward(self, x: torch.Tensor) -> Any:
        return halve(self.layers(x) * self.scale).clamp(max=math.inf)


class WithConstant(nn.Module):
    def forward(self, x: torch.Tensor, shift: float = 1.0) -> torch.Tensor:
        return x + torch.tensor([1.0, 2.0, 3.0, 4.0]) * shift


def written(model: nn.Module, name: str) -> str:
    """The text for ``model``."""
    code = fxcore.symbolic_trace(model).graph.python_code("self")
    text = standalone(f"{name}()", name, code.src, imports_of(code))
    assert text is not None
    return text


def defined(text: str, name: str) -> Any:
    """The class that ``text`` defines."""
    namespace: dict[str, Any] = {"__name__": "written"}
    exec(text, namespace)
    return namespace[name]


@pytest.mark.parametrize("model", [Plain(), nn.Sequential(nn.Linear(4, 3), nn.Tanh())])
def test_it_computes_what_the_model_does_and_shares_its_parameters(model: nn.Module) -> None:
    made = defined(written(model, "Model"), "ModelTraced")(model)
    x = torch.rand(2, 4)
    assert torch.equal(made(x), model(x))
    assert {id(parameter) for parameter in made.parameters()} == {id(parameter) for parameter in model.parameters()}


def test_a_title_of_any_text_stays_in_its_docstring() -> None:
    title = 'Model("""a\\N{b}\\n""")'
    code = fxcore.symbolic_trace(nn.Sequential(nn.Linear(4, 3))).graph.python_code("self")
    text = standalone(title, "Model", code.src, imports_of(code))
    assert text is not None
    assert title in (ast.get_docstring(ast.parse(text)) or "")
    assert title in (defined(text, "ModelTraced").__init__.__doc__ or "")


def test_what_no_import_brings_in_is_named() -> None:
    def local(x: Any) -> Any:
        return x

    code = fxcore.Graph().python_code("self")
    code.globals.update({"clip": clip, "local": local})
    comment, *imports = sorted(imports_of(code))
    assert comment.startswith("# No import was found for `local`")
    assert f"from {__name__} import clip as clip" in imports


def test_torch_fx_can_trace_it_again() -> None:
    model = Plain()
    again = torch.fx.symbolic_trace(defined(written(model, "Plain"), "PlainTraced")(model))
    assert [node.target for node in again.graph.nodes if node.op == "call_function"][1] is halve


def test_constants_of_the_trace_come_from_a_graph_module() -> None:
    text = written(WithConstant(), "WithConstant")
    assert "the result of `torch.fx.symbolic_trace` for `WithConstant()`" in text
    made = defined(text, "WithConstantTraced")(torch.fx.symbolic_trace(WithConstant()))
    x = torch.rand(2, 4)
    assert torch.equal(made(x, 2.0), WithConstant()(x, 2.0))


def test_a_function_becomes_a_module_without_parts() -> None:
    code = fxcore.symbolic_trace(clip).graph.python_code("self")
    text = standalone("clip", "clip", code.src, imports_of(code))
    assert text is not None
    assert "__init__" not in text
    assert defined(text, "ClipTraced")()(torch.tensor(-1.0)) == 0


def test_names_are_the_users_own_and_nothing_of_ours() -> None:
    assert "fxcore" not in written(Plain(), "Plain")
    assert standalone("a.b()", "Outer._net", "def forward(self):\n    return 1\n", ()) == (
        '"""`a.b()` as torch.fx traces it. Written by fx-lsp."""\n\nimport torch\n\n\n'
        "class NetTraced(torch.nn.Module):\n    def forward(self):\n        return 1\n"
    )


def test_code_that_was_cut_is_not_written() -> None:
    assert standalone("Net()", "Net", "def forward(self, x):\n    return (x", ()) is None


@pytest.mark.parametrize("name", ["resnet50", "swin_t"])
def test_real_models(name: str) -> None:
    model = zoo.build(name)
    made = defined(written(model, name), f"{name.capitalize()}Traced")(torch.fx.symbolic_trace(model))
    images = zoo.example_input(name)
    assert torch.equal(made(images), model(images))
