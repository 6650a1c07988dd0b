"""Building and editing graphs: fxcore does what torch.fx does, step by step."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.fx

import fxcore
from tests.core.code_text import statements
from tests.core.oracle import attempt, rows


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.weight = torch.nn.Parameter(torch.ones(3))


def diamond(fx: ModuleType) -> Any:
    """``x -> relu -> (neg, view) -> add -> output``."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.relu, (x,))
    neg = graph.call_method("neg", (relu,))
    view = graph.call_method("view", (relu, -1), {"dtype": [relu, None]})
    graph.output(graph.call_function(operator.add, (neg, view)))
    return graph


def node(graph: Any, name: str) -> Any:
    return next(n for n in graph.nodes if n.name == name)


def users(graph: Any) -> dict[str, list[str]]:
    return {n.name: [user.name for user in n.users] for n in graph.nodes}


Scenario = Callable[[ModuleType], Any]
SCENARIOS: list[Scenario] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


@pytest.mark.parametrize("run", SCENARIOS, ids=lambda run: run.__name__)
def test_does_what_torch_fx_does(run: Scenario) -> None:
    assert run(fxcore) == run(torch.fx)


def described(graph: Any) -> Any:
    return rows(graph), users(graph), str(graph), statements(graph.python_code("self").src), len(graph.nodes)


@scenario
def build(fx: ModuleType) -> Any:
    return described(diamond(fx))


@scenario
def names(fx: ModuleType) -> Any:
    graph = fx.Graph()
    wishes = [
        "x",
        "x",
        "x_1",
        "x_1",
        "x_7",
        "x",
        "len",
        "for",
        "camelCase",
        "a.b.0",
        "0",
        "",
        "_1",
        "x__2",
        "é",
        "torch",
    ]
    made = [graph.create_node("call_method", "m", name=wish).name for wish in wishes]
    methods = ["__add__", "getItem", "HTTPServer", "layers.0.convBlock"]
    made += [graph.call_method(method, ()).name for method in methods]
    return made, [graph._graph_namespace.create_name("fresh", None) for _ in range(2)]


@scenario
def insertion_points(fx: ModuleType) -> Any:
    graph = diamond(fx)
    relu, neg = node(graph, "relu"), node(graph, "neg")
    with graph.inserting_before(relu):
        graph.call_function(torch.abs, (node(graph, "x"),))
        with graph.inserting_after(neg):
            first = graph.call_function(torch.sin, (neg,))
            graph.call_function(torch.cos, (neg,))
        graph.call_function(torch.tan, (node(graph, "x"),))
    with graph.inserting_before():
        graph.placeholder("early")
    with graph.inserting_after():
        graph.call_function(torch.exp, (first,))
    graph.inserting_before(neg)
    graph.call_function(torch.log, (relu,))
    keys = [n._sort_key for n in graph.nodes]
    return described(graph), keys, sorted(graph.nodes) == list(graph.nodes), [n.name for n in reversed(graph.nodes)]


@scenario
def move(fx: ModuleType) -> Any:
    graph = diamond(fx)
    neg, view = node(graph, "neg"), node(graph, "view")
    neg.prepend(view)
    view.append(neg)
    view.prepend(view)
    return described(graph), view < neg, view <= neg, view > neg, view >= view, neg.next.name, neg.prev.name


@scenario
def replace_all_uses(fx: ModuleType) -> Any:
    graph = diamond(fx)
    relu = node(graph, "relu")
    relu.meta["note"] = 1
    with graph.inserting_after(relu):
        new = graph.call_function(torch.sigmoid, (relu,))
    changed = relu.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new, propagate_meta=True)
    return described(graph), [n.name for n in changed], new.meta


@scenario
def arguments(fx: ModuleType) -> Any:
    graph = diamond(fx)
    x, relu, neg, view, add = (node(graph, name) for name in ("x", "relu", "neg", "view", "add"))
    add.replace_input_with(neg, x)
    view.update_arg(1, (x, [x]))
    view.update_kwarg("memory", {"k": slice(x, None, neg)})
    neg.insert_arg(1, x)
    relu.kwargs = {"out": None}
    relu.args = (x, range(3), torch.float32)
    return described(graph), [[n.name for n in m.all_input_nodes] for m in graph.nodes], str(relu.args), relu.kwargs


@scenario
def erase(fx: ModuleType) -> Any:
    graph = diamond(fx)
    add = node(graph, "add")
    output = node(graph, "output")
    output.args = (node(graph, "neg"),)
    graph.erase_node(add)
    return described(graph), add.args, add._erased, add in list(graph.nodes)


@scenario
def edit_while_iterating(fx: ModuleType) -> Any:
    seen = []
    graph = diamond(fx)
    for n in graph.nodes:
        seen.append(n.name)
        if n.name == "relu":
            with graph.inserting_after(n):
                graph.call_function(torch.sin, (n,))
        if n.name == "sin":
            graph.erase_node(n)
    for n in reversed(graph.nodes):
        seen.append(n.name)
        if n.name == "neg":
            with graph.inserting_before(n):
                graph.call_function(torch.cos, (n.args[0],))
    return seen, described(graph)


@scenario
def copy_nodes(fx: ModuleType) -> Any:
    source, graph = diamond(fx), fx.Graph()
    node(source, "relu").meta["note"] = [1]
    node(source, "relu").type = torch.Tensor
    values: dict[Any, Any] = {node(source, "x"): graph.placeholder("given")}
    result, output = graph.graph_copy(source, values, return_output_node=True)
    graph.output(result)
    meta = values[node(source, "relu")].meta
    return described(graph), output.name, meta, meta["note"] is node(source, "relu").meta["note"]


@scenario
def deep_copy(fx: ModuleType) -> Any:
    graph = diamond(fx)
    node(graph, "output").meta["note"] = 1
    new = copy.deepcopy(graph)
    return described(new), described(graph), node(new, "output").meta


@scenario
def find_nodes(fx: ModuleType) -> Any:
    graph = diamond(fx)
    found = [graph.find_nodes(op="call_function", target=torch.relu), graph.find_nodes(op="call_method")]
    neg = node(graph, "neg")
    with graph.inserting_before(neg):
        graph.call_method("neg", (node(graph, "relu"),))
    found += [graph.find_nodes(op="call_method", target="neg"), graph.find_nodes(op="get_attr")]
    neg.target = "abs"
    node(graph, "add").target = torch.relu
    found += [graph.find_nodes(op="call_method", target=name) for name in ("neg", "abs")]
    found += [graph.find_nodes(op="call_function", target=torch.relu), graph.find_nodes(op="placeholder")]
    neg.op = "call_module"
    found += [graph.find_nodes(op="call_module"), graph.find_nodes(op="output", sort=False)]
    return [[n.name for n in nodes] for nodes in found]


@scenario
def dead_code(fx: ModuleType) -> Any:
    graph = diamond(fx)
    relu = node(graph, "relu")
    with graph.inserting_before(node(graph, "neg")):
        unused = graph.call_function(torch.sin, (relu,))
        graph.call_function(torch.cos, (unused,))
        graph.call_function(operator.setitem, (relu, 0, 1))
        graph.call_function(torch._assert, (relu, "no"))
        graph.call_function(torch.rand, (1,))
        graph.call_function(torch.ops.aten.relu_.default, (relu,))
        graph.call_function(torch.ops.aten.relu.default, (relu,))
    kept = copy.deepcopy(graph)
    return (
        kept.eliminate_dead_code(is_impure_node=lambda n: n.op != "call_method"),
        [graph.eliminate_dead_code(), graph.eliminate_dead_code()],
        described(graph),
        described(kept),
    )


@scenario
def dead_module_calls(fx: ModuleType) -> Any:
    net = Net()
    net.layers._is_impure = True  # type: ignore[assignment]
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_module("linear", (x,))
    graph.call_module("layers", (x,))
    graph.output(x)
    traced = fx.GraphModule(net, graph)
    return traced.graph.eliminate_dead_code(), described(traced.graph)


@scenario
def targets_with_constants(fx: ModuleType) -> Any:
    graph = fx.Graph()
    graph.placeholder("x", type_expr=torch.Tensor)
    graph.placeholder("y", default_value=None)
    graph.placeholder("*args")
    graph.get_attr("layers.0.weight")
    graph.call_module("layers.0", (), {"x": 1})
    graph.output(None, type_expr=int)
    return described(graph)


@scenario
def interchange_by_pickle(fx: ModuleType) -> Any:
    graph = pickle.loads(pickle.dumps(diamond(fx)))
    graph.lint()
    return described(graph)


def wrong_args(graph: Any) -> None:
    graph.call_function(torch.relu, [1])


def wrong_kwargs(graph: Any) -> None:
    graph.call_function(torch.relu, (), [("a", 1)])


def wrong_op(graph: Any) -> None:
    graph.create_node("frobnicate", "x")


def wrong_target(graph: Any) -> None:
    graph.create_node("call_method", torch.relu)


def not_a_function(graph: Any) -> None:
    graph.create_node("call_function", "relu")


def erase_used(graph: Any) -> None:
    graph.erase_node(node(graph, "relu"))


def erase_foreign(graph: Any) -> None:
    type(graph)().erase_node(node(graph, "output"))


def insert_in_other(graph: Any) -> None:
    type(graph)().inserting_before(node(graph, "relu"))


def move_to_other(graph: Any) -> None:
    type(graph)().placeholder("y").prepend(node(graph, "relu"))


def mutate_list(graph: Any) -> None:
    node(graph, "view").kwargs["dtype"].append(1)


def mutate_dict(graph: Any) -> None:
    node(graph, "view").kwargs["dtype"] = 1


def insert_arg_outside(graph: Any) -> None:
    node(graph, "view").insert_arg(5, None)


def find_without_target(graph: Any) -> None:
    graph.find_nodes(op="call_function")


def no_output(graph: Any) -> None:
    graph.erase_node(graph.output_node())
    graph.output_node()


def lint_order(graph: Any) -> None:
    node(graph, "x").prepend(node(graph, "relu"))
    graph.lint()


def lint_duplicate(graph: Any) -> None:
    node(graph, "relu").name = "x"
    graph.lint()


def lint_foreign(graph: Any) -> None:
    node(graph, "add").args = (type(graph)().placeholder("y"),)
    graph.lint()


def propagate_over_meta(graph: Any) -> None:
    node(graph, "neg").meta["a"] = 1
    node(graph, "relu").replace_all_uses_with(node(graph, "neg"), propagate_meta=True)


def compare_with_number(graph: Any) -> None:
    assert node(graph, "relu") < 3


@pytest.mark.parametrize(
    "fail",
    [
        wrong_args,
        wrong_kwargs,
        wrong_op,
        wrong_target,
        not_a_function,
        erase_used,
        erase_foreign,
        insert_in_other,
        move_to_other,
        mutate_list,
        mutate_dict,
        insert_arg_outside,
        find_without_target,
        no_output,
        lint_order,
        lint_duplicate,
        lint_foreign,
        propagate_over_meta,
        compare_with_number,
    ],
    ids=lambda fail: fail.__name__,
)
def test_fails_as_torch_fx_does(fail: Callable[[Any], None]) -> None:
    theirs = attempt(lambda: fail(diamond(torch.fx)))
    ours = attempt(lambda: fail(diamond(fxcore)))
    assert isinstance(theirs, Exception)
    assert type(ours) is type(theirs)


@pytest.mark.parametrize("fx", [fxcore, torch.fx], ids=["fxcore", "torch.fx"])
@pytest.mark.parametrize(
    ("op", "target"), [("call_module", "linear.none"), ("get_attr", "no"), ("call_module", "weight")]
)
def test_lint_finds_bad_targets(fx: Any, op: str, target: str) -> None:
    traced = fx.symbolic_trace(Net().layers)
    with traced.graph.inserting_before(node(traced.graph, "output")):
        traced.graph.create_node(op, target)
    with pytest.raises(RuntimeError):
        traced.graph.lint()


def test_mutation_error_says_what_to_do() -> None:
    graph = diamond(fxcore)
    with pytest.raises(TypeError, match=r"node\.args ="):
        node(graph, "view").kwargs["dtype"].append(1)


def test_get_attr_warns_without_anything_there() -> None:
    traced = fxcore.symbolic_trace(Net().layers)
    with pytest.warns(UserWarning, match="no parameter, buffer or submodule 'nothing'"):
        traced.graph.get_attr("nothing")


def test_erasing_twice_warns() -> None:
    graph = diamond(fxcore)
    output = graph.output_node()
    graph.erase_node(output)
    with pytest.warns(UserWarning, match="already been erased"):
        graph.erase_node(output)
    assert len(graph.nodes) == 5


def test_copies_carry_constants_and_places() -> None:
    graph = fxcore.Graph()
    constant = graph.get_attr("_tensor_constant0")
    graph.output(constant)
    graph.constants["_tensor_constant0"] = torch.ones(2)
    constant.where = (diamond.__code__, 0)
    new = copy.deepcopy(graph)
    assert new.constants == graph.constants
    assert node(new, "_tensor_constant0").where == constant.where
    assert torch.equal(fxcore.GraphModule(torch.nn.Module(), new)(), torch.ones(2))


def test_long_graphs_need_no_deep_stack() -> None:
    graph = fxcore.Graph()
    value = graph.placeholder("x")
    for _ in range(5_000):
        value = graph.call_function(torch.neg, (value,))
    graph.output(value)
    new = pickle.loads(pickle.dumps(copy.deepcopy(graph)))
    new.lint()
    assert not new.eliminate_dead_code()
    assert new.python_code("self").src == graph.python_code("self").src


def test_a_graph_out_of_use_is_freed() -> None:
    def nodes_alive() -> int:
        gc.collect()
        return sum(type(thing) is fxcore.Node for thing in gc.get_objects())

    before = nodes_alive()
    for _ in range(3):
        fxcore.GraphModule(torch.nn.Module(), diamond(fxcore))
    assert nodes_alive() == before


def test_print_tabular(capsys: pytest.CaptureFixture[str]) -> None:
    diamond(fxcore).print_tabular()
    heading, _, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["opcode", "name", "target", "args", "kwargs"]
    assert [line.split()[1] for line in lines] == ["x", "relu", "neg", "view", "add", "output"]
