"""Erases dead code: nodes without users that do nothing but compute a value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fxcore import torch_compat
from fxcore.nodes.node_hooks import NodeHooks

if TYPE_CHECKING:
    from fxcore.graph import Graph
    from fxcore.node import Node


_F = TypeVar("_F", bound=Callable[..., Any])

_side_effectful_functions: set[Callable[..., Any]] = {operator.setitem, *torch_compat.side_effectful_functions()}


def has_side_effect(fn: _F) -> _F:
    """Make dead-code elimination keep every call to ``fn``. Usable as a decorator; returns ``fn``."""
    _side_effectful_functions.add(fn)
    return fn


def is_impure_function(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], impure_random: bool = True
) -> bool:
    """Whether a call to ``function`` has an effect besides returning a value.

    ``impure_random``: whether drawing from torch's random number generator counts as an effect, for operators that are
    known to do so.
    """
    if function in _side_effectful_functions:
        return True
    return torch_compat.is_impure_operator(function, args, kwargs, impure_random)


def eliminate_dead_code(graph: Graph, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
    """Erase dead code; see `Graph.eliminate_dead_code`."""
    graph.lint()  # if the nodes were in the wrong order, a node could be erased before its users
    impure_random = torch_compat.random_is_impure()

    def must_stay(node: Node) -> bool:
        return node.is_impure(impure_random) if is_impure_node is None else is_impure_node(node)

    before = len(graph.nodes)
    # Backwards: erasing a node may leave the nodes that it used without users.
    for node in reversed(graph.nodes):
        if not node.users and not must_stay(node):
            graph.erase_node(node)
    changed = len(graph.nodes) != before
    return _clean_children(graph) or changed


def _clean_children(graph: Graph) -> bool:
    """Eliminate dead code in child graph modules that the graph reads; return whether any of them changed."""
    if graph.owning_module is None:
        return False
    children: dict[str, Any] = {
        name: child for name, child in graph.owning_module.named_children() if isinstance(child, NodeHooks)
    }
    read = {node.target for node in graph.find_nodes(op="get_attr")} if children else set()
    changed = False
    for name, child in children.items():
        if name in read:
            changed |= child.graph.eliminate_dead_code()
            child.recompile()
    return changed
