"""The nodes of a graph as a linked list, with sort keys that determine which of two nodes comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fxcore.graph import Graph
    from fxcore.node import Node

SortKey: TypeAlias = tuple[int, ...]
"""The position of an element: keys sort in list order, and an insertion changes only the new element's key."""


def _key_between(before: SortKey, after: SortKey) -> SortKey:
    """A key between those of two neighbors. Repeated insertions at one place count the last number up or down."""
    if not after and before:  # the end of the list, where nearly all are inserted
        return (before[0] + 1,)
    depth = min(len(before), len(after))
    if len(before) > depth:
        return (*before[:depth], before[depth] + 1)
    if len(after) > depth:
        return (*after[:depth], after[depth] - 1)
    return (*before, 0)


class Linked:
    """An element of the list.

    The list is a ring: its root, which is not an element, is before the first element and after the last one.
    """

    __slots__ = ("_erased", "_next", "_prev", "_sort_key", "graph")

    graph: Graph
    _erased: bool
    _next: Node
    _prev: Node
    _sort_key: SortKey

    @property
    def next(self) -> Node:
        """The node after this one; after the last, the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; before the first, the graph's root."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move ``x``, which must belong to the same graph (else ``AssertionError``), directly before this node."""
        if x.graph is not self.graph:
            raise AssertionError(f"'{x.name}' belongs to another Graph; copy it into this one with `node_copy`")
        if x is self:
            return
        if x._next is not x:  # it was in the list already
            x._remove_from_list()
        before = self._prev
        x._prev, x._next = before, self  # type: ignore[assignment]
        before._next = self._prev = x
        x._sort_key = _key_between(before._sort_key, self._sort_key)

    def append(self, x: Node) -> None:
        """Move ``x``, which must belong to the same graph (else ``AssertionError``), directly after this node."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        # The node keeps its own links, so that an iteration that is at this node can continue.
        self._prev._next = self._next
        self._next._prev = self._prev

    def __lt__(self, other: object) -> bool:
        return self._sort_key < other._sort_key if isinstance(other, Linked) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self._sort_key <= other._sort_key if isinstance(other, Linked) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self._sort_key > other._sort_key if isinstance(other, Linked) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self._sort_key >= other._sort_key if isinstance(other, Linked) else NotImplemented
