"""Erase the nodes that nobody needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fxcore import torch_compat

if TYPE_CHECKING:
    from fxcore.graph import Graph
    from fxcore.node import Node


def eliminate_dead_code(graph: Graph, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
    """`Graph.eliminate_dead_code`."""
    graph.lint()  # in a graph out of order, a node could be gone before its users are
    impure_random = torch_compat.random_is_impure()

    def must_stay(node: Node) -> bool:
        return node.is_impure(impure_random) if is_impure_node is None else is_impure_node(node)

    before = len(graph.nodes)
    # Backwards: erasing a node may leave those it used without a user.
    for node in reversed(graph.nodes):
        if not node.users and not must_stay(node):
            graph.erase_node(node)
    changed = len(graph.nodes) != before
    return _clean_children(graph) or changed


def _clean_children(graph: Graph) -> bool:
    """Do the same to the graph modules that the graph reads from its owning module."""
    from fxcore.graph_module import GraphModule

    if graph.owning_module is None:
        return False
    children = {name: m for name, m in graph.owning_module.named_children() if isinstance(m, GraphModule)}
    read = {node.target for node in graph.find_nodes(op="get_attr")} if children else set()
    changed = False
    for name, child in children.items():
        if name in read:
            changed |= child.graph.eliminate_dead_code()
            child.recompile()
    return changed
