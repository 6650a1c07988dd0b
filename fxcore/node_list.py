"""The nodes of a graph as a sequence, and the place in it where new ones go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from fxcore.node import Node

if TYPE_CHECKING:
    from fxcore.graph import Graph


class _InsertPoint:
    """Where a graph puts new nodes; left as a context manager, it gives the place before it back."""

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

    # An erased node keeps its links, so whoever stands on one gets back to the living. The next node is looked up
    # after the body of the loop has run: what it inserted ahead is visited, what it erased there isn't.

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
