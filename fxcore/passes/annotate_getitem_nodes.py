"""Annotate the items of tuples, lists and named tuples with the types from the annotation of the container."""

from __future__ import annotations

import operator
import typing
from typing import Any

from fxcore.graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Set ``type`` on the nodes that read an item of a sequence that has a type.

    Tracing loses the annotations of local variables. This pass restores the types of items, which TorchScript uses.

    Raises:
        AssertionError: A tuple's type has no item at the index, or a list's type doesn't have exactly one parameter.
    """
    for node in graph.nodes:
        if node.target is operator.getitem:
            sequence, index = node.args
            if sequence.type:
                found = _type_of_item(sequence.type, index)
                if found is not None:
                    node.type = found


def _type_of_item(sequence_type: Any, index: Any) -> Any:
    """The type of an item of a ``sequence_type``; None if that isn't a tuple, list or named tuple."""
    origin = typing.get_origin(sequence_type)
    items = typing.get_args(sequence_type)
    if origin is tuple:
        if len(items) == 2 and items[1] is ...:
            return items[0]
        if len(items) <= index:
            raise AssertionError(f"{sequence_type} has no item {index}")
        return items[index]
    if origin is list:
        if len(items) != 1:
            raise AssertionError(f"{sequence_type} must have exactly one type parameter")
        return items[0]
    if hasattr(sequence_type, "_fields"):
        return sequence_type.__annotations__[sequence_type._fields[index]]
    return None
