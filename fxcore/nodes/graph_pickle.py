"""Pickles graphs node by node, because following the links from node to node would recurse through the whole graph.

A reference to a node is stored as the node's graph and sort key, which is unique in the graph. Therefore the nodes, and
whatever else is stored with the graph, may refer to nodes in any way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxcore.node import _node_at
from fxcore.nodes.linked_list import SortKey

if TYPE_CHECKING:
    from fxcore.graph import Graph

# Without `where`: code objects can't be pickled.
_STORED = ("_args", "_erased", "_inputs", "_kwargs", "_op", "_target", "meta", "name", "type", "users")
_MADE_ANEW = frozenset({"_root", "_insert", "_index", "_len"})


def reduced_graph(graph: Graph) -> tuple[Any, ...]:
    """Implement ``Graph.__reduce__``: return how to make an empty graph, and what to fill it with when unpickling."""
    state = {name: value for name, value in vars(graph).items() if name not in _MADE_ANEW}
    nodes = [(node._sort_key, [getattr(node, name) for name in _STORED], vars(node)) for node in graph.nodes]
    return _empty, (type(graph),), (state, nodes), None, None, _fill


def _empty(cls: type[Graph]) -> Graph:
    graph = cls.__new__(cls)
    graph._unfilled = {}
    return graph


def _fill(graph: Graph, stored: tuple[dict[str, Any], list[tuple[SortKey, list[Any], dict[str, Any]]]]) -> None:
    state, nodes = stored
    graph._start()
    for key, values, attributes in nodes:
        node = _node_at(graph, key)
        for name, value in zip(_STORED, values, strict=True):
            setattr(node, name, value)
        vars(node).update(attributes)
        node.graph, node.where, node._repr_fn = graph, None, None
        node._prev = node._next = node
        graph._root.prepend(node)
        node._sort_key = key
    graph._len = len(nodes)
    vars(graph).update(state)
    graph._unfilled = None
