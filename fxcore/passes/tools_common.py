"""Helpers that the passes for accelerators share: names of operations, groups of nodes, the order of nodes."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.nodes.qualified_name import _get_qualified_name
from fxcore.passes.topology import topo_sort

__all__ = [
    "FxNetAccFusionsFinder",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[torch.Tensor] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}

# Operations that make up assertions on sizes; ``legalize_graph`` puts them before operations that rely on these sizes.
_ASSERTION_OPS = frozenset(
    {
        operator.add,
        operator.eq,
        operator.floordiv,
        operator.ge,
        operator.gt,
        operator.le,
        operator.lt,
        operator.mod,
        operator.mul,
        operator.ne,
        operator.sub,
        operator.truediv,
        torch.ops.aten._assert_async.msg,
        torch.ops.aten._assert_scalar.default,
        torch.ops.aten.scalar_tensor.default,
        torch.ops.aten.sym_constrain_range.default,
        torch.ops.aten.sym_constrain_range_for_size.default,
    }
)


def get_acc_ops_name(k: str | type) -> str:
    """The qualified name of a type or function; a module name that contains ``acc_ops`` is shortened to ``acc_ops``.

    A str is returned unchanged.
    """
    if isinstance(k, str):
        return k
    module = k.__module__ or ""
    if "acc_ops" in module:
        return f"acc_ops.{k.__name__}"
    # The module of operators is given as torch._ops, where their names can't be found.
    return f"{module.replace('torch._ops', 'torch.ops')}.{k.__name__}"


def get_node_target(submodules: Mapping[str, torch.nn.Module], node: Node) -> str:
    """The name of what a node calls.

    Args:
        submodules: Submodules by qualified name.
        node: A node that calls something.

    Returns:
        The qualified name of the function or of the module's class, or the name of the method.

    Raises:
        AssertionError: The node doesn't call anything.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"{node} is a {node.op} node, which does not call anything")
    if node.op == "call_method":
        return cast(str, node.target)
    if node.op == "call_module":
        module = submodules[cast(str, node.target)]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    function = cast("Callable[..., Any]", node.target)
    if "acc_ops" in (function.__module__ or ""):
        return f"acc_ops.{function.__name__}"
    return _get_qualified_name(function)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's value is a tensor, according to ``ShapeProp``; False if nothing has been recorded."""
    recorded = node.meta.get("type")
    return recorded is not None and issubclass(recorded, torch.Tensor)


class FxNetAccFusionsFinder:
    """Finds the nodes that an accelerator must run together, because they exchange values other than tensors.

    If the value of a node in a group isn't a tensor, the group contains all users of the node. It also contains all
    inputs of its nodes that aren't tensors, and all nodes on a path from one of its nodes to another.
    """

    def __init__(self, module: GraphModule, acc_nodes: NodeSet) -> None:
        """Prepare to find the groups in the graph of ``module``.

        Args:
            module: The module with the graph, after ``ShapeProp``: nodes with a ``meta["tensor_meta"]`` return tensors.
            acc_nodes: The nodes that the accelerator can run. Groups that contain other nodes are removed from this
                set.
        """
        self.module = module
        self.nodes = list(module.graph.nodes)
        self.acc_nodes = acc_nodes
        self.node_index = {node: index for index, node in enumerate(self.nodes)}

    @dataclass
    class FusionGroup:
        """A group as it grows.

        Attributes:
            top_node_idx: The position of the first node in the graph to consider when searching for paths.
            nodes: The nodes of the group.
            inputs: The nodes outside the group that are used in it.
            nodes_need_process: The ``nodes`` whose neighbors have not been processed.
        """

        top_node_idx: int
        nodes: set[Node]
        inputs: set[Node]
        nodes_need_process: set[Node]

        def add_node(self, node: Node) -> None:
            """Add a node, unless the group contains it already."""
            if node in self.nodes:
                return
            self.nodes_need_process.add(node)
            self.nodes.add(node)
            self.inputs.discard(node)
            self.inputs.update(_calls(used for used in node.all_input_nodes if used not in self.nodes))

    def recursive_add_node(
        self, fusion_group: FusionGroup, inputs: Iterable[Node], visited: NodeSet | None = None
    ) -> bool:
        """Add all nodes on paths from the group to the given inputs.

        Args:
            fusion_group: The group to extend.
            inputs: Nodes that the group uses.
            visited: Nodes to ignore; the nodes that are visited are added to this set.

        Returns:
            Whether any node was added.
        """
        upstream = set() if visited is None else visited
        stack = [node for node in inputs if node not in upstream]
        between: list[Node] = []
        while stack:
            node = stack.pop()
            if node in upstream or node.op not in CALLABLE_NODE_OPS:
                continue
            if node in fusion_group.nodes or self.node_index[node] < fusion_group.top_node_idx:
                continue
            upstream.add(node)
            between.append(node)
            stack.extend(node.all_input_nodes)
        size = len(fusion_group.nodes)
        for node in sorted(between, key=self.node_index.__getitem__):
            if any(used in fusion_group.nodes for used in node.all_input_nodes):
                fusion_group.add_node(node)
        return len(fusion_group.nodes) > size

    def __call__(self) -> dict[Node, NodeSet]:
        """Find the groups; return a table from each node in a group to the nodes of that group."""
        result: dict[Node, NodeSet] = {}
        for node in sorted(self.acc_nodes, key=self.node_index.__getitem__):
            if node in result or node not in self.acc_nodes:
                continue
            if node.op not in CALLABLE_NODE_OPS or "tensor_meta" in node.meta:
                continue
            group = self._group_around(node)
            if group <= self.acc_nodes:
                result.update(dict.fromkeys(group, group))
            else:
                self.acc_nodes -= group
        return result

    def _group_around(self, node: Node) -> NodeSet:
        """The group that ``node`` belongs to."""
        group = self.FusionGroup(self.node_index[node], {node}, set(node.all_input_nodes), {node})
        while group.nodes_need_process:
            # In the order of the graph, because a set's order differs from run to run.
            batch = sorted(group.nodes_need_process, key=self.node_index.__getitem__)
            group.nodes_need_process.clear()
            for node in batch:
                self._add_neighbours(group, node)
        return group.nodes

    def _add_neighbours(self, group: FusionGroup, node: Node) -> None:
        """Add to a group the nodes that must run together with one of its nodes."""
        self.recursive_add_node(group, group.inputs)
        if "tensor_meta" not in node.meta:
            for user in _calls(node.users):
                group.add_node(user)
                self.recursive_add_node(group, group.inputs)
        for used in _calls(node.all_input_nodes):
            if "tensor_meta" not in used.meta and used not in group.nodes:
                group.add_node(used)
                group.top_node_idx = min(group.top_node_idx, self.node_index[used])
                self.recursive_add_node(group, group.inputs)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Sort a graph so that every node comes after those that it uses; the order may otherwise change.

    Nodes that make up assertions on sizes come as early as possible. ``stable_topological_sort`` preserves the order as
    far as possible instead.

    Args:
        gm: The module; it gets a new graph with copies of the nodes.

    Returns:
        ``gm``.

    Raises:
        RuntimeError: Nodes use each other in a cycle.
    """
    waiting_for = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    queue = deque(node for node, count in waiting_for.items() if not count)
    order: list[Node] = []
    while queue:
        node = queue.popleft()
        order.append(node)
        for user in node.users:
            waiting_for[user] -= 1
            if not waiting_for[user]:
                first = user.op == "call_function" and user.target in _ASSERTION_OPS
                (queue.appendleft if first else queue.append)(user)
    if len(order) < len(waiting_for):
        raise RuntimeError(
            f"Nodes depend on each other in a cycle: {[node for node in waiting_for if waiting_for[node]]}"
        )
    return _with_order(gm, order)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Sort a graph so that every node comes after those that it uses, and otherwise keep its order.

    Args:
        gm: The module; it gets a new graph with copies of the nodes.

    Returns:
        ``gm``.

    Raises:
        AssertionError: Nodes use each other in a cycle.
    """
    return _with_order(gm, topo_sort(list(gm.graph.nodes)))


def _calls(nodes: Iterable[Node]) -> list[Node]:
    """The nodes that call something."""
    return [node for node in nodes if node.op in CALLABLE_NODE_OPS]


def _with_order(gm: GraphModule, order: Iterable[Node]) -> GraphModule:
    """Give a module a copy of its graph with the nodes in another order."""
    graph = Graph()
    graph.set_codegen(gm.graph._codegen)
    graph.constants.update(gm.graph.constants)
    copies: dict[Node, Node] = {}
    for node in order:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    gm.graph = graph
    return gm
