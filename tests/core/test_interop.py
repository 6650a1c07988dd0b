"""To torch.fx and back: graphs, graph modules, tracers; and each within the other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx
from torch.ao.quantization.fx.tracer import QuantizationTracer

import fxcore
from fxcore.failures import ControlFlowFailure, TraceFailure, TwoTracersFailure
from fxcore.interop import from_torch, to_torch, tracer_from
from tests import zoo
from tests.core.oracle import assert_same_graph, assert_same_values, attempt, rows
from tests.core.tracers import tracers


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.weight = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("scale", torch.ones(4))
        self.unused = torch.nn.ReLU()

    def forward(self, x: torch.Tensor, pair: Any) -> Any:
        y = self.linear(x) * self.scale + self.weight + torch.arange(4.0)
        return {"y": y, "pair": [pair[0], y[:, 1:]]}


INPUTS = torch.rand(2, 4)


def meta(graph: Any) -> list[Any]:
    return [dict(node.meta) for node in graph.nodes]


@pytest.mark.parametrize("concrete_args", [None, {"pair": (fxcore.PH, 5)}], ids=["plain", "pytree"])
@pytest.mark.filterwarnings("ignore")
def test_a_module_converted_to_torch_fx_and_back_is_the_same(concrete_args: Any) -> None:
    module = Net()
    ours = fxcore.symbolic_trace(module, concrete_args)
    theirs = to_torch(ours)
    assert isinstance(theirs, torch.fx.GraphModule)
    assert_same_graph(ours, theirs)
    theirs.graph.lint()
    back = from_torch(theirs)
    assert back.code == ours.code
    assert rows(back.graph) == rows(ours.graph)
    assert meta(back.graph) == meta(theirs.graph) == meta(ours.graph)
    assert [node.span for node in back.graph.nodes] == [node.span for node in ours.graph.nodes]
    assert type(back).__name__ == type(theirs).__name__ == "Net"
    back.graph.lint()
    for traced in (theirs, back):
        assert_same_values(traced(INPUTS, (3, 5)), ours(INPUTS, (3, 5)))


def test_from_torch_and_back() -> None:
    theirs = torch.fx.symbolic_trace(zoo.build("swin_t"))
    theirs.meta["note"] = 1
    ours = from_torch(theirs)
    assert_same_graph(ours, theirs)
    back = to_torch(ours)
    assert back.code == theirs.code
    assert back.meta == theirs.meta
    assert back.state_dict().keys() == theirs.state_dict().keys()


def test_a_graph_of_its_own_keeps_its_constants() -> None:
    graph = fxcore.Tracer().trace(lambda x: x + torch.ones(2))
    theirs = to_torch(graph)
    assert isinstance(theirs, torch.fx.Graph)
    back = from_torch(theirs)
    assert fxcore.GraphModule(torch.nn.Module(), back)(1).tolist() == [2.0, 2.0]


def test_a_generator_of_ones_own_is_refused() -> None:
    class OwnCodeGen(fxcore.CodeGen):
        pass

    graph = fxcore.Tracer().trace(lambda x: x)
    graph.set_codegen(OwnCodeGen())
    with pytest.raises(TypeError, match="OwnCodeGen"):
        to_torch(graph)


def test_names_that_were_given_by_hand() -> None:
    graph = fxcore.Tracer().trace(lambda x: x + 1)
    list(graph.nodes)[1].name = "Total"
    assert [node.name for node in to_torch(graph).nodes] == ["x", "Total", "output"]


def test_modules_within_each_other() -> None:
    inner = fxcore.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
    middle = torch.fx.symbolic_trace(torch.nn.Sequential(inner))
    outer = fxcore.symbolic_trace(torch.nn.Sequential(middle, torch.nn.Identity()))
    assert_same_values(outer(INPUTS), inner(INPUTS))


# Tracers.


@pytest.mark.parametrize("name", tracers(torch.fx))
def test_a_tracer_for_torch_fx_steers(name: str) -> None:
    def branch(x: Any, y: Any) -> Any:
        return [item + 1 for item in x] if x else y

    root: Any = branch if name == "Truthful" else Net  # torch.fx leaves constants in a module: each gets its own
    make = tracers(torch.fx)[name]

    def trace(tracer: Any) -> Any:
        outcome = attempt(lambda: rows(tracer.trace(root() if isinstance(root, type) else root)))
        return AssertionError if isinstance(outcome, AssertionError) else outcome

    theirs = trace(make())
    assert trace(tracer_from(make())) == theirs
    if isinstance(make, type):
        assert trace(tracer_from(make)()) == theirs


def test_torchvisions_tracer() -> None:
    module = zoo.build("resnet50")
    tracer_class = pytest.importorskip("torchvision.models.feature_extraction").NodePathTracer
    theirs, ours = tracer_class(), tracer_from(tracer_class)()
    expected = theirs.trace(module)
    graph = ours.trace(module)
    assert rows(graph) == rows(expected)
    assert list(ours.node_to_qualname.values()) == list(theirs.node_to_qualname.values())


def test_the_quantizers_tracer() -> None:
    module = zoo.build("mobilenet_v3_large")
    theirs = QuantizationTracer(["features.0"], [torch.nn.Sequential])
    ours = tracer_from(QuantizationTracer(["features.0"], [torch.nn.Sequential]))
    assert rows(ours.trace(module)) == rows(theirs.trace(module))


def test_a_steered_tracer_is_of_both_kinds() -> None:
    class Own(torch.fx.Tracer):
        pass

    tracer: Any = tracer_from(Own)()
    assert issubclass(type(tracer), Own)
    assert issubclass(type(tracer), fxcore.Tracer)
    assert tracer_from(tracer) is tracer
    assert tracer_from(fxcore.Tracer) is fxcore.Tracer
    with pytest.raises(ControlFlowFailure) as failure:
        tracer.trace(lambda x: bool(x))
    assert failure.value.span is not None


def test_its_own_methods_are_not_where_the_program_stands() -> None:
    class Own(torch.fx.Tracer):
        def create_proxy(self, *args: Any, **kwargs: Any) -> Any:
            return super().create_proxy(*args, **kwargs)

        def to_bool(self, obj: Any) -> bool:
            return super().to_bool(obj)

    def branch(x: Any) -> Any:
        return 1 if x + 1 else 2

    tracer = tracer_from(Own)()
    with pytest.raises(TraceFailure) as failure:
        tracer.trace(branch)
    assert [frame.name.rpartition(".")[2] for frame in failure.value.frames] == ["branch"]
    spans = [node.span for node in tracer.graph.nodes if node.op == "call_function"]
    assert spans == [failure.value.span]


# Who else asks what is traced.


def test_libraries_that_ask_for_torch_fx_see_it() -> None:
    seen = {}

    def ask(x: Any) -> Any:
        seen["value"] = isinstance(x, torch.fx.Proxy)
        seen["attribute"] = isinstance(x.shape, torch.fx.proxy.Attribute)
        seen["tensor"] = isinstance(x, torch.Tensor)
        seen["ours"] = type(x) is fxcore.Proxy
        return x

    fxcore.symbolic_trace(ask)
    assert seen == {"value": True, "attribute": True, "tensor": False, "ours": True}


def test_trace_errors_can_be_caught_as_torch_fxs() -> None:
    with pytest.raises(torch.fx.proxy.TraceError):
        fxcore.symbolic_trace(lambda x: bool(x))


def test_a_value_of_torch_fxs_trace_is_not_ours() -> None:
    def outer(x: Any) -> Any:
        fxcore.symbolic_trace(lambda y: y + x)
        return x

    with pytest.raises(TwoTracersFailure):
        torch.fx.symbolic_trace(outer)
