"""A graph's nodes as a sequence and as an index by opcode and target; the place where new nodes are inserted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from fxcore.node import Node

if TYPE_CHECKING:
    from fxcore.graph import Graph
    from fxcore.node import Node, Target


class _InsertPoint:
    """Sets where a graph inserts new nodes; as a context manager, it restores the previous place on exit."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        self.graph._insert = self.orig_insert


class _node_list:
    """The nodes of a graph in order, forwards or backwards. The graph may be edited while they are iterated over."""

    __slots__ = ("direction", "graph")

    def __init__(self, graph: Graph, direction: Literal["_prev", "_next"] = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        return self._forwards() if self.direction == "_next" else self._backwards()

    def __reversed__(self) -> Iterator[Node]:
        return self._backwards() if self.direction == "_next" else self._forwards()

    # An erased node keeps its links, so an iteration that is at an erased node gets back to the list. The next node is
    # looked up after the body of the loop has run: nodes that the body inserts ahead are visited, nodes that it erases
    # there are not.

    def _forwards(self) -> Iterator[Node]:
        root = self.graph._root
        node = root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._next

    def _backwards(self) -> Iterator[Node]:
        root = self.graph._root
        node = root._prev
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev


class NodeIndex:
    """An index of nodes by opcode and target, which is updated node by node."""

    __slots__ = ("_by_op",)

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._by_op: dict[str, dict[Target, dict[Node, None]]] = {}
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Add ``node``, under its current opcode and target."""
        self._by_op.setdefault(node.op, {}).setdefault(node.target, {})[node] = None

    def discard(self, node: Node) -> bool:
        """Remove ``node``, whose opcode and target must be as when it was added; return whether it was present."""
        nodes = self._by_op.get(node.op, {}).get(node.target, {})
        if node not in nodes:
            return False
        del nodes[node]
        return True

    def find(self, op: str, target: Target | None) -> list[Any]:
        """The nodes with opcode ``op`` and, unless ``target`` is None, with this target."""
        by_target = self._by_op.get(op, {})
        if target is not None:
            return list(by_target.get(target, ()))
        return [node for nodes in by_target.values() for node in nodes]
