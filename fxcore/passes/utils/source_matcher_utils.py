"""Find the nodes that come from one call in the original program, by the ``meta`` that exporting recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fxcore.graph import Graph
from fxcore.node import Node
from fxcore.passes.tools_common import NodeList

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes that one call to a function or module was decomposed into.

    Attributes:
        nodes: The nodes, in the order of the graph.
        source: The function, or the class of the module.
        input_nodes: Nodes outside the partition that are positional arguments of its nodes, except ``get_attr`` nodes.
        output_nodes: Nodes of the partition that are used outside it, except ``get_attr`` nodes.
        params: The ``get_attr`` nodes of the partition.
    """

    nodes: NodeList
    source: Any
    input_nodes: NodeList = field(default_factory=list)
    output_nodes: NodeList = field(default_factory=list)
    params: NodeList = field(default_factory=list)


def get_source_partitions(
    graph: Graph, wanted_sources: Sequence[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """Find the calls to the given functions and modules.

    A node's origin is the last entry of ``meta["source_fn_stack"]`` or, if the node has no such stack,
    ``meta["torch_fn"]``. If the latter is missing or not wanted, and the node calls a function, its origin is the
    innermost entry of ``meta["nn_module_stack"]``.

    Args:
        graph: The graph of an exported program.
        wanted_sources: Functions, module classes, or names.
        filter_fn: Called with nodes; a call is returned only if this function returns True for all its nodes.

    Returns:
        For each source that occurs, its calls in the order of the graph.
    """
    calls: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        if (origin := _origin(node, wanted_sources)) is not None:
            source, name = origin
            calls.setdefault(source, {}).setdefault(name, []).append(node)
    return {
        source: [
            _make_partition(nodes, source)
            for nodes in by_name.values()
            if filter_fn is None or all(map(filter_fn, nodes))
        ]
        for source, by_name in calls.items()
    }


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether a node of the second partition uses a node of the first."""
    users = set(subgraph2.nodes)
    return any(user in users for node in subgraph1.nodes for user in node.users)


def _origin(node: Node, wanted_sources: Sequence[Any]) -> tuple[Any, str] | None:
    """The wanted source that a node comes from, and a name for the call; None if it comes from no wanted source."""
    if (stack := node.meta.get("source_fn_stack")) is not None:
        name, source = stack[-1]
        return (source, name) if source in wanted_sources else None
    if (function := node.meta.get("torch_fn")) is not None:
        name, qualified_name = function
        source = qualified_name.split(".")[1]
        if source in wanted_sources:
            return source, name
    modules = node.meta.get("nn_module_stack")
    if node.op != "call_function" or not modules:
        return None
    name, innermost = list(modules.values())[-1]
    source = next((wanted for wanted in wanted_sources if _is_of_class(innermost, wanted)), None)
    return None if source is None else (source, name)


def _is_of_class(recorded: Any, wanted: Any) -> bool:
    """Whether the recorded class of a module, which may be its full name, matches the wanted source."""
    if not isinstance(wanted, type):
        return bool(recorded == wanted)
    if isinstance(recorded, type):
        return issubclass(recorded, wanted)
    return bool(recorded == f"{wanted.__module__}.{wanted.__qualname__}")


def _make_partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    inputs = dict.fromkeys(arg for node in nodes for arg in node.args if isinstance(arg, Node) and arg not in inside)
    return SourcePartition(
        nodes,
        source,
        input_nodes=[node for node in inputs if node.op != "get_attr"],
        output_nodes=[
            node for node in nodes if node.op != "get_attr" and any(user not in inside for user in node.users)
        ],
        params=[node for node in nodes if node.op == "get_attr"],
    )
