"""const_fold against torch.fx: the same folded graph, the same constants, the same results."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.const_fold as theirs

import fxcore.experimental.const_fold as ours
from fxcore._symbolic_trace import Tracer, symbolic_trace
from fxcore.graph_module import GraphModule
from tests.core.code_text import code_of

BOTH: list[tuple[Any, Any]] = [(symbolic_trace, ours), (torch.fx.symbolic_trace, theirs)]


ours_fx = SimpleNamespace(Tracer=Tracer, GraphModule=GraphModule, symbolic_trace=symbolic_trace)


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3))

    def forward(self) -> Any:
        return self.w * 2


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Parameter(torch.rand(3, 3))
        self.b = torch.nn.Parameter(torch.rand(3), requires_grad=False)
        self.c: torch.Tensor
        self.register_buffer("c", torch.rand(3))
        self.inner = Inner()
        self.linear = torch.nn.Linear(3, 3)
        self.act = torch.nn.Sequential(torch.nn.ReLU())


class One(Model):
    def forward(self, x: torch.Tensor) -> Any:
        return self.linear(x) + (self.a + self.b)


class Several(Model):
    def forward(self, x: torch.Tensor) -> Any:
        weight = self.act(self.a.t() * self.c)
        bias = self.inner() + self.b
        return self.linear(x) @ weight + bias, bias, self.c


class Everything(Model):
    def forward(self) -> Any:
        return self.a + self.b


class Nothing(Model):
    def forward(self, x: torch.Tensor) -> Any:
        return self.linear(x) + self.a


class Shape(Model):
    def forward(self, x: torch.Tensor) -> Any:
        return x + (self.a.size(0) + 1)


class Random(Model):
    def forward(self, x: torch.Tensor) -> Any:
        return x + torch.bernoulli(self.a) + (self.a * 2)


MODELS = [One, Several, Everything, Nothing, Random]


def seeded(module: torch.nn.Module, *inputs: torch.Tensor) -> Any:
    torch.manual_seed(0)
    return module(*inputs)


def codes(folded: Any) -> list[str | None]:
    inner = folded.const_subgraph_module
    return [code_of(folded), None if inner is None else code_of(inner), folded.fx_const_folded_attrs_name]


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("cls", MODELS)
def test_folding(cls: Callable[[], Any], traced: bool) -> None:
    model = cls()
    mine = ours.split_const_subgraphs(symbolic_trace(model) if traced else model)
    reference = theirs.split_const_subgraphs(torch.fx.symbolic_trace(model) if traced else model)
    assert codes(mine) == codes(reference)
    inputs = (torch.rand(3, 3),) if cls is not Everything else ()
    torch.testing.assert_close(seeded(mine, *inputs), seeded(model, *inputs))
    assert mine.has_folding_been_run == (cls is not Nothing)
    if mine.has_folding_been_run:
        reference.run_folding()
    assert list(mine.state_dict()) == list(reference.state_dict())
    torch.testing.assert_close(dict(mine.state_dict()), dict(reference.state_dict()))
    grads = [{name: p.requires_grad for name, p in module.named_parameters()} for module in (mine, reference)]
    assert grads[0] == grads[1]


def test_numbers_become_parameters() -> None:
    model = Shape()
    folded = [module.split_const_subgraphs(model) for module in (ours, theirs)]
    assert codes(folded[0]) == codes(folded[1])
    x = torch.rand(3, 3)
    torch.testing.assert_close(folded[0](x), model(x))
    torch.testing.assert_close(folded[0](x), folded[1](x))


def test_constants_are_computed_once() -> None:
    model = One()
    folded = ours.split_const_subgraphs(model)
    x = torch.rand(3, 3)
    before = folded(x)
    with torch.no_grad():
        model.a.zero_()
    torch.testing.assert_close(folded(x), before)
    with pytest.raises(AssertionError, match="already"):
        folded.run_folding()


def test_keyword_arguments_reach_the_module() -> None:
    model = One()
    x = torch.rand(3, 3)
    torch.testing.assert_close(ours.split_const_subgraphs(model)(x=x), model(x))


@pytest.mark.parametrize("skipped", ["add", "t", "inner", "mul"])
def test_nodes_can_be_kept(skipped: str) -> None:
    model = Several()
    mine = ours.split_const_subgraphs(model, lambda node: node.name == skipped)
    reference = theirs.split_const_subgraphs(model, lambda node: node.name == skipped)
    assert codes(mine) == codes(reference)
    x = torch.rand(3, 3)
    torch.testing.assert_close(mine(x), model(x))


def test_unique_names() -> None:
    for name in ["a", "new", "0 a", "a.b-c", "weight_1", "a_9", "_3"]:
        found = []
        for trace, module in BOTH:
            traced = trace(One())
            for taken in ("weight_1", "weight_2", "a_9", "_3"):
                setattr(traced, taken, 1)
            found.append(module.get_unique_attr_name_in_module(traced, name))
        assert found[0] == found[1]


class Pair(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return x + 1, y, x * y


class Caller(torch.nn.Module):
    def __init__(self, pair: torch.nn.Module) -> None:
        super().__init__()
        self.pair = pair

    def forward(self, x: torch.Tensor) -> Any:
        a, b, c = self.pair(x.sin(), y=x.cos())
        return a + b * c


def caller(fx: Any) -> tuple[torch.nn.Module, Any]:
    """A module, and the graph module that calls a traced module in it."""

    class Leaves(fx.Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
            return True

    model = Caller(fx.symbolic_trace(Pair()))
    tracer = Leaves()
    return model, fx.GraphModule(model, tracer.trace(model))


@pytest.mark.parametrize("run_dce", [True, False])
def test_inlining(run_dce: bool) -> None:
    results = []
    for fx, module in [(ours_fx, ours), (torch.fx, theirs)]:
        model, outer = caller(fx)
        replaced = module._inline_module(outer, "pair", run_dce)
        outer.recompile()
        outer.graph.lint()
        results.append((code_of(outer), {node.name: str(value) for node, value in replaced.items()}))
        x = torch.rand(3)
        torch.testing.assert_close(outer(x), model(x))
    assert results[0] == results[1]


def test_inlining_what_is_not_called() -> None:
    _, outer = caller(ours_fx)
    ours._inline_module(outer, "pair")
    with pytest.raises(AssertionError, match="no node calls"):
        ours._inline_module(outer, "pair")
    outer.linear = torch.nn.Linear(2, 2)
    with pytest.raises(AssertionError, match="must be a GraphModule"):
        ours._inline_module(outer, "linear")
