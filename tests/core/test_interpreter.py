"""Interpreter and Transformer do what torch.fx's do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

import fxcore

from . import oracle
from .oracle import assert_same_graph, attempt, rows
from .passes.models import Branches, image, plain, resnet

LIBRARIES: list[Any] = [fxcore, torch.fx]


def assert_same_values(ours: object, theirs: object) -> None:
    oracle.assert_same_values(plain(ours), plain(theirs))


def starred(x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
    return x + others[0] * others[1]


def scaled(x: torch.Tensor, scale: float = 3.0) -> list[torch.Tensor]:
    return [x * scale, x[:1, 1:]]


PROGRAMS: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "branches": (lambda: Branches().eval(), (image(),)),
    "branches with an argument": (lambda: Branches().eval(), (image(), 0.5)),
    "default": (lambda: scaled, (torch.ones(2, 2),)),
    "no default": (lambda: scaled, (torch.ones(2, 2), 1.5)),
    "resnet18": (resnet, (torch.ones(1, 3, 64, 64),)),
    "missing": (lambda: scaled, ()),
}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> tuple[Any, tuple[Any, ...]]:
    make, inputs = PROGRAMS[request.param]
    torch.manual_seed(0)
    return make(), inputs


def test_an_interpreter_gives_the_values_that_torch_fx_gives(program: tuple[Any, tuple[Any, ...]]) -> None:
    root, inputs = program
    ours, theirs = [attempt(partial(fx.Interpreter(fx.symbolic_trace(root)).run, *inputs)) for fx in LIBRARIES]
    assert_same_values(ours, theirs)


def recorder(fx: Any) -> Any:
    """An interpreter class that writes down the calls to its methods."""

    class Recorder(fx.Interpreter):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.calls: list[tuple[str, str, int, list[str], int]] = []

        def run_node(self, n: Any) -> Any:
            alive = len(self.env)
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            self.calls.append((n.op, n.name, len(args), list(kwargs), alive))
            return super().run_node(n)

    return Recorder


@pytest.mark.parametrize("collect", [True, False])
def test_order_of_calls_and_lifetimes(collect: bool) -> None:
    model = Branches().eval()
    ours, theirs = [recorder(fx)(fx.symbolic_trace(model), garbage_collect_values=collect) for fx in LIBRARIES]
    ours.run(image())
    theirs.run(image())
    assert ours.calls == theirs.calls
    assert [node.name for node in ours.env] == [node.name for node in theirs.env]
    assert len(ours.env) == (1 if collect else len(ours.graph.nodes))


def test_overridden_opcodes() -> None:
    def neg_of_sigmoid(x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x).neg()

    def swapping(fx: Any) -> Any:
        class Swap(fx.Interpreter):  # type: ignore[misc]
            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                return super().call_function(torch.neg if target is torch.sigmoid else target, args, kwargs)

            def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
                return super().call_method("sigmoid" if target == "neg" else target, args, kwargs)

        return Swap(fx.symbolic_trace(neg_of_sigmoid))

    x = torch.randn(3, 4)
    ours, theirs = [swapping(fx).run(x) for fx in LIBRARIES]
    assert torch.equal(ours, theirs)
    assert torch.equal(ours, torch.neg(x).sigmoid())


def test_initial_env_is_not_computed_again() -> None:
    def run(fx: Any) -> Any:
        interpreter = recorder(fx)(fx.symbolic_trace(lambda x, y: (torch.relu(x) + y) * 2))
        known = next(node for node in interpreter.graph.nodes if node.name == "relu")
        return interpreter.run(torch.ones(2), torch.ones(2), initial_env={known: torch.full((2,), 7.0)}), [
            name for _, name, *_ in interpreter.calls
        ]

    (ours, our_calls), (theirs, their_calls) = map(run, LIBRARIES)
    assert torch.equal(ours, theirs)
    assert our_calls == their_calls == ["x", "y", "add", "mul", "output"]


def test_boxed_run_empties_the_list() -> None:
    interpreter = fxcore.Interpreter(fxcore.symbolic_trace(lambda x, y: x - y))
    values = [torch.ones(2), torch.zeros(2)]
    assert torch.equal(interpreter.boxed_run(values), torch.ones(2))
    assert values == []


@pytest.mark.parametrize("count", [1, 3])
def test_boxed_run_needs_a_value_for_each_placeholder(count: int) -> None:
    for fx in LIBRARIES:
        with pytest.raises(RuntimeError):
            fx.Interpreter(fx.symbolic_trace(lambda x, y: x - y)).boxed_run([torch.ones(2)] * count)


def test_starred_parameters_take_all_that_is_left() -> None:
    ours, theirs = [fx.Interpreter(fx.symbolic_trace(starred)) for fx in LIBRARIES]
    values = [torch.full((2,), float(value)) for value in range(3)]
    assert_same_values(ours.run(*values), theirs.run(*values))


def test_a_graph_with_its_root_and_its_constants() -> None:
    class Constant(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.tensor([1.0, 2.0])

    root = Constant()
    graph = fxcore.Tracer().trace(root)
    result = fxcore.Interpreter(root, graph=graph).run(torch.zeros(2))
    assert torch.equal(result, torch.tensor([1.0, 2.0]))
    assert not list(root.buffers())


def test_io_processing() -> None:
    def nested(pair: Any, x: torch.Tensor) -> dict[str, Any]:
        return {"sum": pair[0] + pair[1], "x": [x]}

    values = ((torch.ones(1), torch.full((1,), 2.0)), torch.zeros(1))
    leaves = (*values[0], values[1])
    ours, theirs = [fx.symbolic_trace(nested, {"pair": (fx.PH, fx.PH)}) for fx in LIBRARIES]
    assert_same_values(fxcore.Interpreter(ours).run(*values), torch.fx.Interpreter(theirs).run(*values))
    assert_same_values(
        fxcore.Interpreter(ours).run(*leaves, enable_io_processing=False),
        torch.fx.Interpreter(theirs).run(*leaves, enable_io_processing=False),
    )


class BadView(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).view(7, 7)


class BadKey(nn.Module):
    def forward(self, x: dict[str, torch.Tensor]) -> torch.Tensor:
        return operator.getitem(x, "missing")


@pytest.mark.parametrize(("model", "value"), [(BadView(), torch.ones(2)), (BadKey(), {"present": 1})], ids=repr)
def test_an_error_names_the_node_and_the_users_line(model: nn.Module, value: Any) -> None:
    ours, theirs = [attempt(partial(fx.Interpreter(fx.symbolic_trace(model)).run, value)) for fx in LIBRARIES]
    assert type(ours) is type(theirs) is RuntimeError
    original, _, context = str(ours).partition("\n\n")
    assert str(theirs).startswith(original)
    assert context.startswith("While executing %")
    assert f'File "{__file__}", line {type(model).forward.__code__.co_firstlineno + 1}' in context


def test_an_error_without_context() -> None:
    interpreter = fxcore.Interpreter(fxcore.symbolic_trace(BadView()))
    interpreter.extra_traceback = False
    with pytest.raises(RuntimeError) as caught:
        interpreter.run(torch.ones(2))
    assert "While executing" not in str(caught.value)


def test_missing_attribute_and_value() -> None:
    for fx in LIBRARIES:
        graph = fx.Graph()
        node = graph.create_node("get_attr", "a.b")
        graph.output(node)
        with pytest.raises(RuntimeError, match="a"):
            fx.Interpreter(nn.Module(), graph=graph).run()
        late = graph.call_function(torch.relu, (node,))
        early = graph.call_function(torch.neg, (late,))
        node.prepend(early)
        with pytest.raises(RuntimeError, match="relu"):
            fx.Interpreter(nn.Module(), graph=graph).run()


def test_transforming_changes_nothing_by_itself(program: tuple[Any, tuple[Any, ...]]) -> None:
    root, _ = program
    before = fxcore.symbolic_trace(root)
    ours = fxcore.Transformer(before).transform()
    assert_same_graph(ours, torch.fx.Transformer(torch.fx.symbolic_trace(root)).transform())
    for old, new in zip(before.graph.nodes, ours.graph.nodes, strict=True):
        if old.op not in ("placeholder", "output"):
            assert new.span == old.span
            assert new.meta.get("nn_module_stack") == old.meta.get("nn_module_stack")


def test_overridden_transformer() -> None:
    def inlining(fx: Any) -> Any:
        class Inline(fx.Transformer):  # type: ignore[misc]
            def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
                if isinstance(self.fetch_attr(target), nn.ReLU):
                    return args[0].clamp(min=0.0) + 0 * torch.relu(args[0])
                return super().call_module(target, args, kwargs)

            def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
                return args[0].mean() if target == "sum" else super().call_method(target, args, kwargs)

        return Inline(fx.symbolic_trace(Branches().eval())).transform()

    ours, theirs = map(inlining, LIBRARIES)
    assert_same_graph(ours, theirs)
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]


def test_transformer_keeps_pytrees_constants_and_the_old_module() -> None:
    def nested(pair: Any) -> dict[str, Any]:
        return {"sum": pair[0] + pair[1] + torch.tensor([5.0])}

    traced = fxcore.symbolic_trace(nested, {"pair": (fxcore.PH, fxcore.PH)})
    before = rows(traced.graph)
    transformed = fxcore.Transformer(traced).transform()
    values = (torch.ones(1), torch.full((1,), 2.0))
    assert_same_values(transformed(values), traced(values))
    assert rows(traced.graph) == before


def test_constants_that_a_transformer_adds() -> None:
    class Constant(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + torch.tensor([7.0, 8.0]))

    def scaling(fx: Any) -> Any:
        class Scale(fx.Transformer):  # type: ignore[misc]
            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                return super().call_function(target, args, kwargs) * torch.tensor([2.0, 3.0])

        return Scale(fx.symbolic_trace(Constant())).transform()

    ours, theirs = map(scaling, LIBRARIES)
    assert_same_graph(ours, theirs)
    assert_same_values(ours(torch.ones(2)), theirs(torch.ones(2)))
