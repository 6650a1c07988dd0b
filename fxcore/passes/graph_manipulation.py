"""Change what nodes call, and compute how much memory nodes need."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import torch

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node, Target
from fxcore.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Target, new_op: str, new_target: Target
) -> None:
    """Replace one opcode and target with another in every node that has them; the arguments are kept.

    ``fx_module`` gets a new graph; the changed nodes in it keep their names, but not their ``meta``.
    """
    graph = Graph()
    graph.constants.update(fx_module.graph.constants)
    copies: dict[Node, Any] = {}
    for node in fx_module.graph.nodes:
        copied = graph.node_copy(node, copies.__getitem__)
        if node.op == old_op and node.target == old_target:
            copied.op, copied.target = new_op, new_target
            copied.meta = {}
        copies[node] = copied
    fx_module.graph = graph


class size_bytes(NamedTuple):
    """The memory that a node needs, in bytes.

    Attributes:
        output_size: The size of the node's value.
        total_size: The size of the node's value and of the parameters of the module that it calls.
    """

    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module: GraphModule, args: list[torch.Tensor] | None = None) -> None:
    """Set ``size_bytes`` on every node except the output.

    Args:
        fx_module: The module.
        args: Sample inputs from which to propagate shapes; None if that has already been done.

    Raises:
        RuntimeError: A node's value isn't a tensor, or shapes have not been propagated.
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            node.size_bytes = get_size_of_node(fx_module, node)  # type: ignore[attr-defined]


def get_tensor_meta(node: Node) -> TensorMetadata:
    """The metadata that ``ShapeProp`` recorded about a node's value.

    Raises:
        RuntimeError: Nothing was recorded.
    """
    metadata = node.meta.get("tensor_meta")
    if not metadata:
        raise RuntimeError(f"The shape of the tensor that {node} returns is unknown; run ShapeProp first")
    return cast(TensorMetadata, metadata)


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The memory that a node needs; parameters are counted as if their elements had the dtype of the node's value.

    Raises:
        RuntimeError: The node's value isn't a tensor, or shapes have not been propagated.
    """
    metadata = get_tensor_meta(node)
    elements = metadata.shape.numel()
    parameters = 0
    if node.op == "call_module":
        submodule = fx_module.get_submodule(cast(str, node.target))
        parameters = sum(parameter.numel() for parameter in submodule.parameters())
    bytes_per_element = metadata.dtype.itemsize
    return size_bytes(bytes_per_element * elements, bytes_per_element * (elements + parameters))
