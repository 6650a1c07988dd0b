"""Keeps the data of a module in MKL-DNN's layout from one operation to the next.

Source: the results are those of ``torch.fx.experimental.optimization``, of which this is the third pass.
"""

import copy
import logging
import operator
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import mkldnn

from fxcore._symbolic_trace import Tracer
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.interpreter import Interpreter
from fxcore.node import Node, map_arg

_log = logging.getLogger(__name__)


def replace_node_module(node: Node, modules: dict[str, nn.Module], new_module: nn.Module) -> None:
    """Replace the module that the node calls with ``new_module``, in its parent and in ``modules``."""
    parent, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def extract_subgraph(orig_module: nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> GraphModule:
    """A module that runs some nodes of a graph.

    Args:
        orig_module: the module with the submodules and attributes that the nodes refer to.
        nodes: the nodes, in an order in which they can run.
        inputs: the nodes whose values are passed in.
        outputs: the nodes whose values are returned, in a list.
    """
    graph = Graph()
    env = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        env[node] = graph.node_copy(node, env.__getitem__)
    graph.output([env[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


# Functions and modules that accept tensors in MKL-DNN's layout.
mkldnn_supported: list[Any] = [
    F.adaptive_avg_pool2d,
    F.avg_pool2d,
    F.relu,
    nn.AdaptiveAvgPool2d,
    nn.AvgPool2d,
    nn.BatchNorm2d,
    nn.Conv2d,
    nn.Linear,
    nn.MaxPool2d,
    nn.ReLU,
    torch.relu,
    torch.sigmoid,
    torch.transpose,
]
# Functions that accept such tensors if an operand is in that layout already; the operands may also be numbers.
mkldnn_supported_unknown: list[Any] = [operator.add, operator.mul]
mkldnn_map: dict[type[nn.Module], Callable[[Any, torch.dtype], nn.Module]] = {
    nn.Conv2d: mkldnn.MkldnnConv2d,
    nn.Linear: mkldnn.MkldnnLinear,
    nn.BatchNorm2d: lambda module, _: mkldnn.MkldnnBatchNorm(module),
}


def modules_to_mkldnn(nodes: list[Node], modules: dict[str, nn.Module]) -> dict[nn.Module, nn.Module]:
    """Replace the modules that the nodes call with modules that have MKL-DNN weights.

    Returns:
        A dict from the new modules to copies of the originals.
    """
    originals: dict[nn.Module, nn.Module] = {}
    for node in nodes:
        module = modules[str(node.target)] if node.op == "call_module" else None
        if module is not None and type(module) in mkldnn_map:
            converted = mkldnn_map[type(module)](module, torch.float)
            originals[converted] = copy.deepcopy(module)
            replace_node_module(node, modules, converted)
    return originals


def reset_modules(
    nodes: Iterable[Node], modules: dict[str, nn.Module], old_modules: dict[nn.Module, nn.Module]
) -> None:
    """Restore the modules that `modules_to_mkldnn` replaced."""
    for node in nodes:
        if node.op == "call_module" and modules[str(node.target)] in old_modules:
            replace_node_module(node, modules, old_modules[modules[str(node.target)]])


class MklSubgraph:
    """Connected nodes that run in MKL-DNN's layout.

    ``start_nodes`` convert to the layout, ``nodes`` run in it, ``end_nodes`` convert back. ``old_modules`` is what
    `modules_to_mkldnn` returned for the whole graph.
    """

    def __init__(self, fx_graph: Graph, old_modules: dict[nn.Module, nn.Module] | None = None) -> None:
        self.fx_graph = fx_graph
        self.old_modules = old_modules or {}
        self.nodes: list[Node] = []
        self.start_nodes: list[Node] = []
        self.end_nodes: list[Node] = []


def use_mkl_length(graph: MklSubgraph) -> bool:
    """A heuristic for `optimize_for_inference`: three nodes in the layout are worth the conversions."""
    return len(graph.nodes) > 2


class _Shapes(Interpreter):
    """Runs a graph and records the shape of each tensor."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        self.of: dict[Node, torch.Size] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if isinstance(value, torch.Tensor):
            self.of[n] = value.shape
        return value


def gen_mkl_autotuner(
    example_inputs: Sequence[torch.Tensor], iters: int = 10, warmup: int = 1
) -> Callable[[MklSubgraph], bool]:
    """A heuristic for `optimize_for_inference` that runs each subgraph with and without the layout and compares times.

    Args:
        example_inputs: the model's inputs, which determine the shapes of the subgraphs' random inputs.
        iters: how many times each variant is run for the comparison.
        warmup: how many times each variant is run beforehand.
    """

    shapes: dict[Graph, _Shapes] = {}

    def seconds(run: Callable[[], object]) -> float:
        for _ in range(warmup):
            run()
        start = time.perf_counter()
        for _ in range(iters):
            run()
        return time.perf_counter() - start

    def is_faster(graph: MklSubgraph) -> bool:
        model = graph.fx_graph.owning_module
        assert model is not None
        if graph.fx_graph not in shapes:  # once, before `reset_modules` has restored any module
            shapes[graph.fx_graph] = _Shapes(model)
            shapes[graph.fx_graph].run(*example_inputs)
        samples = [torch.randn(shapes[graph.fx_graph].of[node]) for node in graph.start_nodes]
        results = [node.args[0] for node in graph.end_nodes]
        submodule = extract_subgraph(model, graph.nodes, graph.start_nodes, results)
        in_layout = seconds(lambda: [y.to_dense() for y in submodule(*[x.to_mkldnn() for x in samples])])
        reset_modules(submodule.graph.nodes, dict(submodule.named_modules()), graph.old_modules)
        return in_layout < seconds(lambda: submodule(*samples))

    return is_faster


class UnionFind:
    """Disjoint sets of the numbers below ``n``.

    Source: Galler and Fischer, "An improved equivalence algorithm", CACM 7 (1964), with union by size.
    """

    def __init__(self, n: int) -> None:
        self.size = [0] * n
        self.parent: list[int | None] = [None] * n

    def make_set(self, v: int) -> None:
        """Make a set that contains only ``v``."""
        self.parent[v] = v
        self.size[v] = 1

    def find(self, v: int) -> int:
        """The number that represents the set of ``v``. Raises AssertionError if ``v`` isn't in any set."""
        path = []
        while (parent := self.parent[v]) != v:
            if parent is None:
                raise AssertionError(f"{v} does not belong to any set")
            path.append(v)
            v = parent
        for each in path:
            self.parent[each] = v
        return v

    def join(self, a: int, b: int) -> int:
        """Unite the sets of ``a`` and ``b``; return the number that represents the union."""
        large, small = sorted((self.find(a), self.find(b)), key=self.size.__getitem__, reverse=True)
        if large != small:
            self.parent[small] = large
            self.size[large] += self.size[small]
        return large


def use_mkldnn_layout(model: nn.Module, heuristic: Callable[[MklSubgraph], bool], tracer: Tracer) -> GraphModule:
    """``model`` as a graph module that runs the parts chosen by ``heuristic`` in MKL-DNN's layout.

    Modules in ``model`` itself are replaced.
    """
    graph = tracer.trace(copy.deepcopy(model))
    modules = dict(model.named_modules())
    _insert_conversions(graph, modules)
    originals = modules_to_mkldnn(list(graph.nodes), modules)
    _cancel_conversions(graph)
    owner = GraphModule(model, graph)  # a heuristic may run parts of it
    for subgraph in _mkl_subgraphs(owner.graph, originals):
        if not heuristic(subgraph):
            for node in subgraph.start_nodes + subgraph.end_nodes:
                node.replace_all_uses_with(node.args[0])
                owner.graph.erase_node(node)
            reset_modules(subgraph.nodes, modules, originals)
    _log.info("mkldnn conversions: %s", sum(_converts_to(node) or _converts_back(node) for node in owner.graph.nodes))
    owner.graph.lint()
    return GraphModule(model, owner.graph)


def _converts_to(node: Node) -> bool:
    return bool(node.op == "call_method" and node.target == "to_mkldnn")


def _converts_back(node: Node) -> bool:
    return bool(node.op == "call_method" and node.target == "to_dense")


def _insert_conversions(graph: Graph, modules: dict[str, nn.Module]) -> None:
    """Insert conversions of the operands of each operation that can run in the layout, and of its result back."""
    for node in list(graph.nodes):
        if not _runs_in_layout(node, modules):
            continue
        with graph.inserting_before(node):
            node.args = map_arg(node.args, lambda used: graph.call_method("to_mkldnn", (used,)))
        with graph.inserting_after(node):
            dense = graph.call_method("to_dense", (node,))
        node.replace_all_uses_with(dense)
        dense.args = (node,)


def _runs_in_layout(node: Node, modules: dict[str, nn.Module]) -> bool:
    """Whether the node can run in the layout. Raises AssertionError for a module with another dtype or device."""
    if node.op == "call_function":
        if node.target in mkldnn_supported_unknown:
            return any(isinstance(used, Node) and _converts_back(used) for used in node.args)
        return node.target in mkldnn_supported
    if node.op != "call_module" or type(modules[str(node.target)]) not in mkldnn_supported:
        return False
    sample = next(modules[str(node.target)].parameters(), None)
    if sample is not None and (sample.dtype != torch.float or sample.device != torch.device("cpu")):
        raise AssertionError(f"{node.target} must be float32 on the CPU, not {sample.dtype} on {sample.device}")
    return True


def _cancel_conversions(graph: Graph) -> None:
    """Remove each conversion back that is followed by another conversion to the layout."""
    for node in graph.nodes:
        if not _converts_back(node):
            continue
        for user in list(node.users):
            if _converts_to(user):
                user.replace_all_uses_with(node.args[0])
                graph.erase_node(user)
        if not node.users:
            graph.erase_node(node)


def _mkl_subgraphs(graph: Graph, originals: dict[nn.Module, nn.Module]) -> list[MklSubgraph]:
    """The connected groups of nodes between conversions to the layout and back.

    Each conversion to the layout starts a new set; any other node unites the sets of its operands and joins the union.
    """
    sets = UnionFind(len(graph.nodes))
    color: dict[Node, int] = {}
    for index, node in enumerate(graph.nodes):
        joined = sorted(
            sets.find(color[used]) for used in node.all_input_nodes if used in color and not _converts_back(used)
        )
        if _converts_to(node):
            sets.make_set(index)
            color[node] = index
        elif joined:
            color[node] = joined[0]
            for other in joined[1:]:
                sets.join(joined[0], other)
    found: dict[int, MklSubgraph] = {}
    for node, number in color.items():
        subgraph = found.setdefault(sets.find(number), MklSubgraph(graph, originals))
        kind = subgraph.start_nodes if _converts_to(node) else subgraph.nodes
        (subgraph.end_nodes if _converts_back(node) else kind).append(node)
    return list(found.values())
