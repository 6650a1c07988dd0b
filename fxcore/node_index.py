"""The nodes of a graph by what they do, for `Graph.find_nodes`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxcore.node import Node, Target


class NodeIndex:
    """Nodes by opcode and target, brought up to date node by node."""

    __slots__ = ("_by_op",)

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._by_op: dict[str, dict[Target, dict[Node, None]]] = {}
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Take ``node`` in, under the opcode and target that it has."""
        self._by_op.setdefault(node.op, {}).setdefault(node.target, {})[node] = None

    def discard(self, node: Node) -> bool:
        """Forget ``node``, which has its opcode and target still; whether it was here."""
        nodes = self._by_op.get(node.op, {}).get(node.target, {})
        if node not in nodes:
            return False
        del nodes[node]
        return True

    def find(self, op: str, target: Target | None) -> list[Any]:
        """The nodes with opcode ``op`` and, unless it is ``None``, with ``target``."""
        by_target = self._by_op.get(op, {})
        if target is not None:
            return list(by_target.get(target, ()))
        return [node for nodes in by_target.values() for node in nodes]
