"""Writes in place that a graph doesn't do as the program does.

Of ``y += x`` an addition is recorded that makes a new value: whoever else holds ``y``, or what it is a view of, doesn't
see it. A method such as ``fill_`` is recorded as it is, but where nobody uses what it returns, dead-code elimination
may drop it.
"""

from __future__ import annotations

import operator

import torch

from fxcore.bytecode import is_in_place_operator
from fxcore.graph import Graph
from fxcore.likely_type import type_of_node
from fxcore.node import Node
from fxcore.notices import NoticeKind, Notices

# fmt: off
_VIEWS = frozenset((
    "chunk", "detach", "diagonal", "expand", "expand_as", "movedim", "narrow", "permute", "select", "split", "squeeze",
    "swapaxes", "t", "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "view", "view_as",
))
# fmt: on
"""Methods whose results share the tensor's memory."""


def note_lost_writes(graph: Graph, notices: Notices) -> None:
    """Note each write whose effect on another value may be lost."""
    order = {node: position for position, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        written = node.args[0] if node.args else None
        if isinstance(written, Node) and _is_lost(node, written) and _is_seen_later(node, written, order):
            notices.at(NoticeKind.LOST_WRITE, node.where, str(getattr(node.target, "__name__", node.target)))


def _is_lost(node: Node, written: Node) -> bool:
    """Whether ``node`` is a write in place that is recorded as none, or that has no users."""
    if node.op == "call_function" and node.where is not None and is_in_place_operator(*node.where):
        return type_of_node(written) in (torch.Tensor, None) and _is_operator(node.target)
    return not node.users and _writes(node)


def _is_operator(target: object) -> bool:
    return getattr(operator, getattr(target, "__name__", ""), None) is target


def _writes(node: Node) -> bool:
    name = str(getattr(node.target, "__name__", node.target))
    if node.op not in ("call_function", "call_method") or name == "requires_grad_":
        return False
    return (name.endswith("_") and not name.endswith("__")) or node.kwargs.get("inplace") is True


def _is_seen_later(node: Node, written: Node, order: dict[Node, int]) -> bool:
    """Whether what was written is used after the write, by itself or through what it is a view of."""
    if any(order[user] > order[node] for user in written.users):
        return True
    if written.op == "get_attr":
        return not node.users and _writes(node)
    viewed = _viewed(written)
    return viewed is not None and (viewed.op == "get_attr" or _is_seen_later(node, viewed, order))


def _viewed(node: Node) -> Node | None:
    """What the value of ``node`` is a view of; None where it is none."""
    source = node.args[0] if node.args else None
    if not isinstance(source, Node) or type_of_node(source) not in (torch.Tensor, None):
        return None
    if node.op == "call_method":
        return source if node.target in _VIEWS else None
    if node.target is operator.getitem:
        return None if _gathers(node.args[1]) else source
    return source if node.target is getattr and node.args[1] in ("T", "mT", "data", "real", "imag") else None


def _gathers(index: object) -> bool:
    """Whether an index picks elements by a tensor or a list, which makes a copy."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Node | list) for part in parts)
