"""The source of a graph is torch.fx's to the letter, with its globals and its line map."""

from __future__ import annotations

import enum
import inspect
import math
import operator
from collections import namedtuple
from collections.abc import Callable
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

import pytest
import torch
import torch.fx
from torch.fx.passes.shape_prop import _extract_tensor_metadata
from torch.fx.tensor_type import TensorType
from torch.utils import _pytree as pytree

import fxcore

from .code_text import statements
from .oracle import assert_same_failure, attempt, normal

PACKAGES: list[Any] = [fxcore, torch.fx]

Pair = namedtuple("Pair", "first second")


class Color(enum.Enum):
    RED = 1


def scale(x: Any, by: float = 2.0) -> Any:
    return x * by


def everything(fx: Any) -> Any:
    """A graph with every opcode and every kind of argument that is written in a way of its own."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", default_value=None, type_expr=torch.Tensor)
    args = graph.placeholder("*args")
    relu = graph.call_function(torch.relu, (x,))
    add = graph.call_function(operator.add, (relu, 1.5))
    view = graph.call_method("view", (add, -1, [relu, 2]), {"dtype": torch.float32})
    layer = graph.call_module("layers.0", (view,), {"k": {"z": relu}})
    graph.get_attr("weights.0.data")
    shape = graph.call_function(getattr, (layer, "shape"))
    graph.call_function(getattr, (layer, "not an identifier"))
    graph.call_function(getattr, (layer, "shape", None))
    item = graph.call_function(operator.getitem, (shape, (slice(None, relu, None), ..., None)))
    graph.call_function(operator.setitem, (view, 0, item))
    graph.call_function(operator.iadd, (view, 1))
    graph.call_function(operator.truth, (view,))
    graph.call_function(torch.nn.functional.relu, (float("inf"), float("-inf"), float("nan")), {"inplace": True})
    length = graph.call_function(len, (layer,))
    graph.call_function(math.sqrt, (length,), {"f": math.sqrt})
    graph.call_function(torch.ops.aten.add.Tensor, (length, torch.device("cpu")))
    wrapped = graph.call_function(scale, (x,))
    wrapped.meta["is_wrapped"] = True
    hidden = graph.create_node("call_function", torch.cat, ([relu, add],), name="torch")
    other = graph.create_node("call_function", torch.cat, ([relu, add],), name="math_sqrt")
    special = (Pair(hidden, {"u": [hidden]}), Color.RED, torch.ones(2), {"k": hidden}, torch.ops.aten.add.Tensor)
    graph.call_function(torch.Tensor.add, (*special, torch.Size([1, 2]), range(3), (hidden,), (), True, "it's", 1j))
    graph.output((hidden, [other], y, args))
    return graph


def annotated(fx: Any) -> Any:
    graph = fx.Graph()
    kinds: list[Any] = [
        torch.Tensor,
        int,
        Tuple[()],  # noqa: UP006
        Tuple[int, ...],  # noqa: UP006
        tuple[torch.Tensor, list[int]],
        List[Dict[str, torch.Tensor]],  # noqa: UP006
        Optional[int],  # noqa: UP045
        Union[int, torch.Tensor],  # noqa: UP007
        int | None,
        TensorType((1, 2)),
        Pair,
        "Later",
    ]
    for index, kind in enumerate(kinds):
        graph.placeholder(f"x{index}", type_expr=kind)
    added = graph.call_function(torch.add, tuple(graph.nodes)[:2], type_expr=torch.Tensor)
    graph.output(added, type_expr=kinds[4])
    return graph


def noted(fx: Any) -> Any:
    """A graph with all that verbose code shows."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta.update(desc="the input", val=torch.ones(2, 3))
    relu = graph.call_function(torch.relu, (x,))
    relu.meta.update(stack_trace='File "/a/b.py", line 3, in forward\n    x = relu(x)\n', val=torch.ones(2, 3))
    same = graph.call_function(torch.relu, (relu,))
    same.meta.update(stack_trace=relu.meta["stack_trace"], tensor_meta=_extract_tensor_metadata(torch.ones(4)))
    custom = graph.call_function(torch.relu, (same,))
    custom.meta.update(custom={"long": "v" * 60, "short": 1}, example_value=torch.nn.Parameter(torch.ones(1)))
    again = graph.call_function(torch.relu, (custom,))
    again.meta.update(recompute=Color.RED, ac_graph_id=7)
    sparse = graph.call_function(torch.relu, (again,), type_expr=torch.Tensor)
    sparse.meta.update(ac_graph_id=8, val=torch.eye(2).to_sparse_csr(), seq_nr=5)
    last = graph.call_function(torch.relu, (sparse,))
    last.meta.update(recompute=Color.RED)
    graph.output((last, [x])).meta["desc"] = ["the last", "the first"]
    return graph


def empty(fx: Any) -> Any:
    return fx.Graph()


def without_nodes_but_output(fx: Any) -> Any:
    graph = fx.Graph()
    graph.output(None)
    return graph


GRAPHS = [everything, annotated, noted, empty, without_nodes_but_output]

KNOWN = inspect.signature(torch.fx.Graph.python_code).parameters.keys()
"""The options of the installed torch.fx; older versions lack some."""
OPTIONS: list[dict[str, Any]] = [
    {},
    {"verbose": True},
    {"colored": True},
    {"expanded_def": True},
    {"record_func": True},
    {"verbose": True, "colored": True, "include_stride": True, "include_device": True},
    {"verbose": True, "additional_meta": ["seq_nr", "stack_trace", "missing"]},
    {"verbose": True, "expanded_def": True},
]


def known(options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in options if each.keys() <= KNOWN]


def assert_same_code(graphs: list[Any], **options: Any) -> None:
    ours, theirs = (graph.python_code("self", **options) for graph in graphs)
    assert statements(ours.src) == statements(theirs.src)
    assert list(ours.globals) == list(theirs.globals)
    assert ours._prologue_start == getattr(theirs, "_prologue_start", ours._prologue_start)  # before torch 2.13, none
    # Of code with comments, torch.fx's map is off by the blank line that it takes away; and its profiling has no lines.
    if not options.get("verbose") and not options.get("record_func"):
        assert ours._lineno_map == theirs._lineno_map


@pytest.mark.parametrize("options", known(OPTIONS), ids=str)
@pytest.mark.parametrize("build", GRAPHS)
def test_same_code(build: Callable[[Any], Any], options: dict[str, Any]) -> None:
    assert_same_code([build(fx) for fx in PACKAGES], **options)


@pytest.mark.parametrize("variable", ["STRIDE", "DEVICE", "META"])
def test_same_code_by_environment(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"FX_GRAPH_SHOW_{variable}", "1")
    assert_same_code([noted(fx) for fx in PACKAGES], verbose=True)


IN_SPECS = [pytree.tree_structure(([1, {"a": 2}, 3],)), pytree.tree_structure(((1, 2), {"k": 3, "l": 4}))]
OUT_SPECS = [None, pytree.tree_structure([1, (2,)])]
ORIGINAL = [["self", "x", "y", "k", "l"], ["x", "y", "k", "l"], []]


@pytest.mark.parametrize("options", known([{}, {"expanded_def": True}]), ids=str)
@pytest.mark.parametrize("original", ORIGINAL, ids=str)
@pytest.mark.parametrize("out_spec", OUT_SPECS)
@pytest.mark.parametrize("in_spec", IN_SPECS)
@pytest.mark.parametrize("build", GRAPHS)
def test_same_pytree_signature(build: Any, in_spec: Any, out_spec: Any, original: list[str], options: Any) -> None:
    graphs = []
    for fx in PACKAGES:
        graph = build(fx)
        info = fx.graph._PyTreeInfo(list(original), in_spec, out_spec)
        graph.set_codegen(fx.graph._PyTreeCodeGen(info))
        graphs.append(graph)
    assert_same_code(graphs, **options)


def test_same_boxed_signature() -> None:
    graphs = [annotated(fx) for fx in PACKAGES]
    for fx, graph in zip(PACKAGES, graphs, strict=True):
        graph.set_codegen(fx.graph._BoxedCodeGen())
    assert_same_code(graphs)


def test_pytree_codegen_processes_inputs_and_outputs() -> None:
    results = []
    for fx in PACKAGES:
        graph = fx.Graph()
        info = fx.graph._PyTreeInfo(["x"], IN_SPECS[0], pytree.tree_structure([1, (2,)]))
        graph.set_codegen(fx.graph._PyTreeCodeGen(info))
        results.append(
            (graph.process_inputs([1, {"a": 2}]), graph.process_outputs((3, 4)), fx.Graph().process_inputs(1))
        )
    assert results[0] == results[1]


def test_own_codegen() -> None:
    """A code generator as torch.fx's documentation has it: older ones don't know all options."""

    def with_list(fx: Any) -> Any:
        class ListCodeGen(fx.CodeGen):  # type: ignore[misc]
            def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
                head = f"def forward(self, args_list: List[torch.Tensor]){maybe_return_annotation}:"
                return f"{head}\n    {', '.join(free_vars)} = args_list"

            def additional_globals(self) -> list[tuple[str, Any]]:
                return [("List", List)]  # noqa: UP006

            def generate_output(self, output_args: Any) -> str:
                return f"return [{output_args!r}]"

            def process_inputs(self, *inputs: Any) -> Any:
                return inputs[0]

        traced = fx.symbolic_trace(lambda a, torch_: a + torch_)
        next(n for n in traced.graph.nodes if n.name == "add").name = "inf"
        traced.graph.set_codegen(ListCodeGen())
        traced.recompile()
        return traced

    ours, theirs = map(with_list, PACKAGES)
    assert ours.code == theirs.code
    values = [torch.ones(2), torch.ones(2)]
    assert torch.equal(ours(values)[0], theirs(values)[0])
    assert ours.graph.process_inputs(values) == values


def test_body_transformers() -> None:
    def observed(fx: Any) -> list[Any]:
        graph = noted(fx)
        plain = graph.python_code("self").src
        with graph.on_generate_code(lambda current: lambda body: ["import pdb\n", *body]):
            graph.on_generate_code(lambda current: lambda body: [*current(body), "pass\n"])
            code = graph.python_code("self")
        return [plain, code.src, code._lineno_map, graph.python_code("self").src]

    assert observed(fxcore) == observed(torch.fx)


def test_line_map_follows_a_transformed_body() -> None:
    graph = noted(fxcore)
    graph.on_generate_code(lambda _: lambda body: [body[0], "extra = 1\n", *body[1:]])
    code = graph.python_code("self")
    lines = code.src.split("\n")
    nodes = list(graph.nodes)
    assert code._lineno_map is not None
    at = {
        lines[number + code._prologue_start - 1].strip(): nodes[i].name for number, i in code._lineno_map.items() if i
    }
    assert at["extra = 1"] == "relu"
    assert at["relu_1 = torch.relu(relu);  relu = None"] == "relu_1"


def test_line_map_of_verbose_code_is_true() -> None:
    graph = noted(fxcore)
    code = graph.python_code("self", verbose=True)
    lines = code.src.split("\n")
    nodes = list(graph.nodes)
    assert code._lineno_map is not None
    for number, index in code._lineno_map.items():
        line = lines[number + code._prologue_start - 1].strip()
        if " = torch.relu" in line:
            assert index is not None
            assert line.startswith(nodes[index].name)


def test_code_of_inputs_alone_is_python() -> None:
    """Where torch.fx's is not."""
    graph = fxcore.Graph()
    graph.placeholder("x")
    assert fxcore.GraphModule(torch.nn.Module(), graph)(1) is None


@pytest.mark.parametrize("function", [lambda x: x, type("", (), {"__call__": print})()], ids=["lambda", "object"])
def test_functions_without_a_name_fail_alike(function: Any) -> None:
    def code(fx: Any) -> Any:
        graph = fx.Graph()
        graph.create_node("call_function", function, name="value")
        return attempt(lambda: normal(graph.python_code("self").src))

    assert_same_failure(*map(code, PACKAGES))
