"""Values: what they record, what they know, and what is on purpose other than in torch.fx."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

import fxcore
from fxcore.failures import FailureKind, TraceFailure
from fxcore.proxy import Attribute, GraphAppendingTracer, MetaProxy, ParameterProxy, Proxy, Scope, ScopeContextManager
from tests.core.oracle import rows
from tests.core.snippets import define, text_of


def test_by_hand_it_adds_to_its_graph() -> None:
    graph = fxcore.Graph()
    x: Any = Proxy(graph.placeholder("x"))
    graph.output((torch.relu(x + 1).sum(dim=0) @ x.shape[0]).node)
    graph.lint()
    assert [str(node) for node in graph.nodes] == [
        "x",
        "add",
        "relu",
        "sum_1",
        "getattr_1",
        "getitem",
        "matmul",
        "output",
    ]
    assert isinstance(x.tracer, GraphAppendingTracer)
    with pytest.raises(TraceFailure) as failure:
        len(x)
    assert failure.value.kind is FailureKind.LEN


def test_an_attribute_is_recorded_when_it_is_used() -> None:
    graph = fxcore.Graph()
    x: Any = Proxy(graph.placeholder("x"))
    shape = x.shape
    assert isinstance(shape, Attribute)
    assert len(graph.nodes) == 1
    assert shape.node is shape.node
    assert len(graph.nodes) == 2


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_copies(copier: Any) -> None:
    x: Any = Proxy(fxcore.Graph().placeholder("x"))
    x.note = [1]
    clone: Any = copier(x)
    assert issubclass(type(clone), Proxy)
    assert (clone.node.name, clone.note) == ("x", [1])
    assert (clone.note is x.note) == (copier is copy.copy)


def test_a_meta_proxy_computes_an_example() -> None:
    mode = FakeTensorMode()
    graph = fxcore.Graph()
    node = graph.placeholder("x")
    node.meta["val"] = mode.from_tensor(torch.ones(2, 3))
    x: Any = MetaProxy(node, fake_mode=mode)
    y: Any = torch.add(torch.relu(x), x)
    assert repr(type(y)) == repr(MetaProxy)
    assert y.node.meta["val"].shape == (2, 3)
    assert repr(y) == "MetaProxy(add)"


def test_a_parameter_proxy_knows_its_sizes() -> None:
    graph = fxcore.Graph()
    parameter = torch.nn.Parameter(torch.ones(2, 3))
    proxy = ParameterProxy(GraphAppendingTracer(graph), graph.get_attr("w"), "w", parameter)
    assert (proxy.shape, proxy.size(), proxy.dim(), proxy.ndim) == ((2, 3), (2, 3), 2, 2)
    assert (proxy.numel(), proxy.nelement(), repr(proxy)) == (6, 6, "ParameterProxy(w)")
    with pytest.raises(AssertionError):
        ParameterProxy(GraphAppendingTracer(graph), graph.get_attr("v"), "v", torch.ones(1))  # type: ignore[arg-type]


def test_a_scope_is_changed_within_its_context_manager_only() -> None:
    scope = Scope("", None)
    with ScopeContextManager(scope, Scope("a.b", torch.nn.Linear)) as entered:
        assert entered is scope
        assert (scope.module_path, scope.module_type) == ("a.b", torch.nn.Linear)
    assert (scope.module_path, scope.module_type) == ("", None)


@pytest.mark.parametrize(
    ("argument", "error"), [(3, RuntimeError), (len, NotImplementedError), ("len", NotImplementedError)]
)
def test_misuse_of_wrap(argument: Any, error: type[Exception]) -> None:
    for package in (fxcore, torch.fx):
        with pytest.raises(error):
            package.wrap(argument)


def test_a_failing_hook_may_answer() -> None:
    """Every failure can be turned into an answer in one place."""

    class Answering(fxcore.Tracer):
        def fail(self, failure: Any, message: str, value: Any = None) -> Any:
            answers = {"iteration": iter([1, 2]), "len": 2, "conversion": 1, "containment": True, "control-flow": False}
            return answers.get(failure.kind.value)

    def program(x: Any) -> Any:
        x[0] = 1
        del x[1]
        return [*x], len(x), int(x), x in x, 1 if x else 2, x.g({1, 2}), [5, 6][x], f"{round(x)}"

    graph = Answering().trace(program)
    output = str(list(graph.nodes)[-1].args[0])
    assert output == "([1, 2], 2, 1, True, 2, g, 6, '1')"


# Differences on purpose.


class Decorated(torch.nn.Module):
    @staticmethod
    def doubled(forward: Any) -> Any:
        @functools.wraps(forward)
        def around(self: Any, *args: Any, **kwargs: Any) -> Any:
            return forward(self, *args, **kwargs) * 2

        return around

    @doubled
    def forward(self, x: torch.Tensor, *rest: Any, scale: int = 3, **others: Any) -> Any:
        return x * scale + len(rest) + len(others)


def test_a_decorated_forward_with_keywords_traces() -> None:
    with pytest.raises(ValueError, match="varnames is too small"):
        torch.fx.symbolic_trace(Decorated())
    traced = fxcore.symbolic_trace(Decorated())
    assert [node.name for node in traced.graph.nodes if node.op == "placeholder"] == ["x", "scale"]
    assert traced(torch.ones(1), scale=4).item() == Decorated()(torch.ones(1), scale=4).item() == 8


def test_a_recorded_assertion() -> None:
    class Asserting(fxcore.Tracer):
        trace_asserts = True

    f = define("def f(x):\n    assert x.any(), 'no'\n    return x if x is not None else 1\n")
    traced = fxcore.GraphModule(torch.nn.Module(), Asserting().trace(f))
    assert "assert_fn" in traced.code
    assert traced(torch.ones(1)).item() == 1
    with pytest.raises(AssertionError):
        traced(torch.zeros(1))
    with pytest.raises(TraceFailure) as failure:
        Asserting().trace(define("def f(x):\n    if x.any(): return 1\n"))
    assert text_of(failure.value.span) == "x.any()"


def test_a_handled_failure_leaves_the_modules_in_order() -> None:
    """torch.fx loses count of the modules that it is in."""

    class Inner(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return 1 if x else 2

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: Any) -> Any:
            try:
                return self.inner(x)
            except ValueError:
                return x + 1

    graph = fxcore.Tracer().trace(torch.nn.Sequential(Outer()))
    add = next(node for node in graph.nodes if node.name == "add")
    assert list(add.meta["nn_module_stack"]) == ["0"]
    with pytest.raises(AssertionError):
        torch.fx.Tracer().trace(torch.nn.Sequential(Outer()))


def test_constants_do_not_pile_up_in_the_module() -> None:
    class Adding(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.ones(2)

    adding = Adding()
    graphs = [fxcore.Tracer().trace(adding) for _ in range(3)]
    assert [list(graph.constants) for graph in graphs] == [["_tensor_constant0"]] * 3
    assert not hasattr(adding, "_tensor_constant0")
    assert rows(graphs[0]) == rows(torch.fx.Tracer().trace(Adding()))


def test_stack_traces() -> None:
    class Recording(fxcore.Tracer):
        record_stack_traces = True

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

    graph = Recording().trace(torch.nn.Sequential(Net()))
    relu = next(node for node in graph.nodes if node.name == "relu")
    assert relu.stack_trace is not None
    assert "return torch.relu(x)" in relu.stack_trace
    assert relu.stack_trace.startswith("File ")
    assert [node.name for node in graph.nodes if not node.stack_trace] == ["input_1", "output"]


def test_an_exception_keeps_its_type_and_attributes() -> None:
    class OwnError(Exception):
        def __new__(cls, code: int, *, why: str) -> Any:
            return super().__new__(cls, code)

        def __init__(self, code: int, *, why: str) -> None:
            super().__init__(code)
            self.why = why

    error = OwnError(7, why="because")

    def fail(x: object) -> None:
        raise error

    with pytest.raises(OwnError) as caught:
        fxcore.symbolic_trace(fail)
    assert isinstance(caught.value, TraceFailure)
    assert (caught.value.args, caught.value.why) == ((7,), "because")
    assert caught.value.__cause__ is error
    with pytest.raises(FileNotFoundError) as missing:
        fxcore.symbolic_trace(lambda x: Path("/no/such").stat())
    assert missing.value.errno == 2
