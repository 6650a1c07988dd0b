"""Replace groups of nodes with calls to modules that contain them."""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes.tools_common import NodeList, legalize_graph, stable_topological_sort
from fxcore.passes.topology import partitions_are_acyclic, topo_sort, validate_partition
from fxcore.passes.utils.common import lift_subgraph_as_module

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "legalize_graph",
    "topo_sort",
    "validate_partition",
]


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: NodeList,
    module_name: str,
    partition_lookup_table: Container[Node] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Copy nodes into a new module; ``gm`` remains unchanged.

    Args:
        gm: The module with the nodes.
        nodes: Nodes of ``gm``'s graph in topological order.
        module_name: The name of the new module's class.
        partition_lookup_table: The same nodes in a container with a fast membership test.
        always_return_tuple: Whether to return a tuple even for a single result.

    Returns:
        The new module; the nodes outside ``nodes`` whose values it takes as inputs; and the nodes in ``nodes`` whose
        values it returns, because other nodes use them.

    Raises:
        AssertionError: A node is not in ``gm``'s graph, or a path leads out of the nodes and back in.
    """
    for node in nodes:
        if node.graph is not gm.graph or node._erased:
            raise AssertionError(f"{node} is not in the graph of {type(gm).__name__}")
    if not validate_partition(nodes):
        raise AssertionError("The nodes can't be fused: a path leaves them and reenters them")
    inside = set(nodes) if partition_lookup_table is None else partition_lookup_table
    return _copy_as_graphmodule(gm, nodes, module_name, inside, always_return_tuple)


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: Sequence[Node],
    orig_outputs: Sequence[Node],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Add ``sub_gm``, made by ``fuse_as_graphmodule``, to ``gm``; use its results in place of ``orig_outputs``.

    Args:
        gm: The module that ``sub_gm`` was made from.
        sub_gm: The new module; its name in ``gm`` is the name of its class.
        orig_inputs: The nodes to call ``sub_gm`` with.
        orig_outputs: The nodes whose values ``sub_gm`` returns.
        insertion_point: The node after which to insert the call; by default the last of ``orig_outputs``.

    Returns:
        ``gm``.

    Raises:
        AssertionError: No insertion point is given, and there are no outputs.
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    graph = gm.graph
    with graph.inserting_after(insertion_point or _last_of(graph, orig_outputs)):
        call = graph.call_module(name, args=tuple(orig_inputs))
    if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    with graph.inserting_before(call.next):
        for index, output in enumerate(orig_outputs):
            item = graph.call_function(operator.getitem, (call, index))
            output.replace_all_uses_with(item, propagate_meta=True)
    if orig_outputs:
        call.meta["val"] = tuple(output.meta.get("val") for output in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: NodeList) -> None:
    """Erase nodes, given in topological order, that no other nodes use."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: Sequence[Mapping[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Replace each group of nodes with a call to a submodule that contains them.

    The time taken is linear in the size of the graph.

    Args:
        gm: The module to change.
        partitions: Disjoint groups of nodes of ``gm``'s graph: the keys of the mappings.
        prefix: What the names of the submodules begin with; a number follows.
        always_return_tuple: Whether submodules return a tuple even for a single result.

    Returns:
        ``gm``, with its graph sorted again.

    Raises:
        AssertionError: The calls would depend on each other in a cycle; in this case, ``gm`` is unchanged.
    """
    if not partitions_are_acyclic(partitions, gm.graph.nodes):
        raise AssertionError("The partition can't be fused: a path leaves it and reenters it")
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        sub_gm, inputs, outputs = _copy_as_graphmodule(gm, nodes, f"{prefix}{number}", partition, always_return_tuple)
        insert_subgm(gm, sub_gm, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm


def _copy_as_graphmodule(
    gm: GraphModule, nodes: NodeList, module_name: str, inside: Container[Node], always_return_tuple: bool
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Do the same as ``fuse_as_graphmodule``, for nodes that are known to be a valid partition."""
    subgraph = Graph()
    inputs: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def copied(node: Node) -> Node:
        if node in inside:
            return copies[node]
        if node not in inputs:
            inputs[node] = subgraph.placeholder(node.name, type_expr=node.type)
            inputs[node].meta = copy.copy(node.meta)
        return inputs[node]

    for node in nodes:
        copies[node] = subgraph.node_copy(node, copied)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    results: Any = tuple(copies[node] for node in outputs)
    subgraph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    subgraph.lint()
    sub_gm, _ = lift_subgraph_as_module(gm, subgraph, comp_name="", class_name=module_name)
    return sub_gm, tuple(inputs), outputs


def _last_of(graph: Graph, nodes: Collection[Node]) -> Node:
    """The last of ``nodes`` in the graph."""
    for node in reversed(graph.nodes):
        if node in nodes:
            return node
    raise AssertionError("An insertion point must be given for a module without outputs")
