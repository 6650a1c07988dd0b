"""Which nodes nobody needs: those without users that do no more than compute a value. They can be erased."""

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
    """Have dead-code elimination keep every call of ``fn``. Usable as a decorator; returns ``fn``."""
    _side_effectful_functions.add(fn)
    return fn


def is_impure_function(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], impure_random: bool = True
) -> bool:
    """Whether a call of ``function`` has an effect beside its value.

    ``impure_random``: whether drawing from torch's random number generator counts as one, for operators that say so.
    """
    if function in _side_effectful_functions:
        return True
    return torch_compat.is_impure_operator(function, args, kwargs, impure_random)


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
