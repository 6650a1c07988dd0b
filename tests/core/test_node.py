"""What a single node knows, and how containers of arguments are mapped."""

from __future__ import annotations

import collections
import copy
import operator
import pickle
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.fx
from torch.utils import _pytree as pytree

import fxcore
from fxcore.immutable_collections import immutable_dict, immutable_list
from fxcore.source import SourceSpan
from tests.ids import same_everywhere

Pair = collections.namedtuple("Pair", "first second")


class Triple(tuple):  # type: ignore[type-arg]
    __slots__ = ()


VALUES: list[Any] = [
    (),
    [],
    {},
    (1, [2, {"a": (3, slice(4, None, 5))}]),
    Pair(1, [2]),
    Triple((1, 2)),
    torch.Size([1, 2]),
    range(3),
    collections.OrderedDict(a=1),
    {1: 2},
    "text",
    None,
    {1, 2},
]


def spelled(value: object) -> str:
    """A value with the type of everything in it."""
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(spelled, value))})"
    if isinstance(value, dict):
        return f"{type(value).__name__}({', '.join(f'{k}: {spelled(v)}' for k, v in value.items())})"
    return f"{type(value).__name__}({value})"


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_map_aggregate(value: Any) -> None:
    ours = fxcore.node.map_aggregate(value, lambda item: (item,))
    assert spelled(ours) == spelled(torch.fx.node.map_aggregate(value, lambda item: (item,)))
    assert spelled(fxcore.node.map_arg(value, str)) == spelled(torch.fx.node.map_arg(value, str))


def test_map_arg_reaches_every_node() -> None:
    def mapped(fx: ModuleType) -> str:
        graph = fx.Graph()
        x = graph.placeholder("x")
        value = (x, [x, Pair(x, {"k": slice(x, [x], 1)})], torch.ones(1).dtype)
        return spelled(fx.node.map_arg(value, lambda node: node.name.upper()))

    assert mapped(fxcore) == mapped(torch.fx)


@pytest.mark.parametrize("fx", [fxcore, torch.fx], ids=["fxcore", "torch.fx"])
def test_map_arg_wants_a_function(fx: Any) -> None:
    with pytest.raises(AssertionError):
        fx.node.map_arg((), None)


FUNCTIONS = [
    len,
    getattr,
    operator.add,
    torch.relu,
    torch.Tensor.add,
    torch.Tensor.__add__,
    torch.Tensor.backward,
    torch.nn.functional.relu,
    torch.nn.functional.linear,
    torch.segment_reduce,
    torch.ops.aten.add.Tensor,
    torch.ops.aten.add,
    torch.ops.higher_order.cond,
    collections.OrderedDict,
    Pair,
    torch.float32.is_floating_point.__class__,
    torch._C._nn.gelu,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=same_everywhere)
def test_qualified_name(function: Any) -> None:
    assert fxcore.node._get_qualified_name(function) == torch.fx.node._get_qualified_name(function)
    assert fxcore.node.Node._pretty_print_target(function) == torch.fx.Node._pretty_print_target(function)


named_lambda = lambda x: x + 1  # noqa: E731


def test_qualified_name_of_a_lambda() -> None:
    assert fxcore.node._get_qualified_name(named_lambda) == torch.fx.node._get_qualified_name(named_lambda)


@pytest.mark.parametrize("kind", [int, torch.Tensor, list[int], ..., len, "text", int | None, Pair], ids=str)
def test_type_repr(kind: Any) -> None:
    assert fxcore.node._type_repr(kind) == torch.fx.node._type_repr(kind)


def test_format_node() -> None:
    def lines(fx: ModuleType) -> list[str | None]:
        graph = fx.Graph()
        x = graph.placeholder("x", type_expr=torch.Tensor, default_value=None)
        weight = graph.get_attr("weight", type_expr=torch.nn.Parameter)
        add = graph.call_function(torch.add, ([x, weight], {"k": (x,)}, Pair(1, x)), {"alpha": 2}, type_expr=int)
        add.meta["val"] = torch.ones(2, 3)
        graph.output((add, [x]), type_expr=tuple[int, int])
        names, returned = ["self"], [""]
        shown = [node.format_node(include_tensor_metadata=True) for node in graph.nodes]
        return [*shown, *(node.format_node(names, returned) for node in graph.nodes), *names, *returned, repr(add)]

    assert lines(fxcore) == lines(torch.fx)


def test_is_impure() -> None:
    @fxcore.has_side_effect
    def log(x: object) -> None:
        """Pretends to write x somewhere."""

    graph = fxcore.Graph()
    nodes = [graph.placeholder("x"), graph.call_function(log), graph.call_function(torch.rand, (1,))]
    nodes += [graph.call_function(torch.relu), graph.call_method("add_"), graph.output(None)]
    assert [node.is_impure() for node in nodes] == [True, True, True, False, False, True]


@pytest.mark.parametrize("fx", [fxcore, torch.fx], ids=["fxcore", "torch.fx"])
def test_purity_of_a_module_needs_the_module(fx: Any) -> None:
    with pytest.raises(AssertionError):
        fx.Graph().call_module("layer").is_impure()


def test_stack_trace_is_meta() -> None:
    node = fxcore.Graph().placeholder("x")
    assert node.stack_trace is None
    node.stack_trace = "here"
    assert node.meta == {"stack_trace": "here"}


def test_span_is_where_the_call_stands() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)

    node = fxcore.symbolic_trace(forward).graph.find_nodes(op="call_function", target=torch.relu)[0]
    line = forward.__code__.co_firstlineno + 1
    assert isinstance(node.span, SourceSpan)
    assert (node.span.line, node.span.end_line) == (line, line)
    assert fxcore.Graph().placeholder("x").span is None


def test_passes_can_attach_attributes() -> None:
    node: Any = fxcore.Graph().placeholder("x")
    node.tag = "left"
    graph = pickle.loads(pickle.dumps(node.graph))
    assert next(iter(graph.nodes)).tag == "left"


def test_pickled_nodes_stay_themselves() -> None:
    graph = fxcore.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.relu, (x,))
    x.meta["other"] = y
    loaded, loaded_graph = pickle.loads(pickle.dumps((y, graph)))
    assert list(loaded_graph.nodes)[1] is loaded
    assert loaded.args[0].meta["other"] is loaded
    assert loaded.args[0].users == {loaded: None}


def test_deep_copies_of_nodes_lie_in_the_copied_graph() -> None:
    graph = fxcore.Graph()
    x = graph.placeholder("x")
    graph.output(x)
    module = fxcore.GraphModule(torch.nn.Module(), graph)
    module.meta["input"] = x
    with graph.inserting_before(x):
        graph.placeholder("early")
    assert copy.deepcopy(x).graph is not graph
    assert copy.deepcopy(x).name == "x"
    module.recompile()
    copied = copy.deepcopy(module)
    assert copied.meta["input"] is list(copied.graph.nodes)[1]
    assert copied.meta["input"] is not x


def test_immutable_collections_are_pytrees() -> None:
    value = immutable_list([1, immutable_dict(a=2, b=immutable_list([3]))])
    leaves, spec = pytree.tree_flatten(value)
    assert leaves == [1, 2, 3]
    assert spelled(pytree.tree_unflatten(leaves, spec)) == spelled(value)
    paths = [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(value)[0]]
    assert paths == ["[0]", "[1]['a']", "[1]['b'][0]"]


@pytest.mark.parametrize("kind", ["immutable_list", "immutable_dict"])
def test_immutable_collections_refuse_what_torch_fx_refuses(kind: str) -> None:
    ours = getattr(fxcore.immutable_collections, kind)
    theirs = getattr(torch.fx.immutable_collections, kind)
    for name in dir(theirs):
        if getattr(theirs, name, None) is theirs.clear:
            with pytest.raises(TypeError, match="does not support mutation"):
                getattr(ours(), name)()
    assert hash(ours()) == hash(theirs())
    assert pickle.loads(pickle.dumps(ours())) == ours()
