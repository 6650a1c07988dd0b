"""Splits a graph module into submodules, one for each partition that a callback names.

The resulting outer module calls the submodules in an order that respects the data flow between them. A value that one
partition computes and another uses becomes an output of the former and an input of the latter. The outer module fetches
parameters and buffers and passes them to the submodules.

Source: the interface and results are those of ``torch.fx.passes.split_module``.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node, map_arg
from fxcore.torch_compat import enter_autocast, exit_autocast, set_grad_enabled

__all__ = ["Partition", "split_module", "split_module_simple"]


class Partition:
    """One part of the split: its nodes, its inputs and outputs, and the submodule's graph as it grows.

    ``inputs``, ``outputs``, ``dependencies`` and ``dependents`` are used as sets that keep the order of insertion:
    dictionaries whose values are None.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.graph = Graph()
        self.targets: dict[str, Any] = {}
        self.environment: dict[Node, Node] = {}
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}

    def __repr__(self) -> str:
        facts = {
            "name": self.name,
            " nodes": self.node_names,
            " inputs": self.inputs,
            " outputs": self.outputs,
            " partitions depended on": self.dependencies,
            " partition dependents": self.dependents,
        }
        return ",\n".join(f"{title}: {value}" for title, value in facts.items())

    def add_copy(self, node: Node, args: Any, kwargs: Any, *, target: Any = None, name: str | None = None) -> Node:
        """Append a copy of ``node`` with new arguments, and with a new target or name if given."""
        copied = self.graph.create_node(
            node.op, node.target if target is None else target, args, kwargs, name=name, type_expr=node.type
        )
        copied.meta = node.meta.copy()
        copied.where = node.where
        return copied


@dataclass
class _Region:
    """The stretch of a graph in which one global state (autocast, gradient mode) is in force.

    ``partitions`` are the partitions with nodes in the stretch, by their identifiers. ``exit`` is None if no node ends
    the state.
    """

    enter: Node
    partitions: dict[int, Partition] = field(default_factory=dict)
    exit: Node | None = None

    def in_order(self) -> list[Partition]:
        return [self.partitions[key] for key in sorted(self.partitions)]


def split_module(
    m: GraphModule,
    root_m: nn.Module,
    split_callback: Callable[[Node], int],
    qualname_map: MutableMapping[str, str] | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """Split ``m`` into one submodule for each partition.

    Args:
        m: the module to split; it remains unchanged.
        root_m: not used; the parameter exists for compatibility with torch.fx.
        split_callback: returns the identifier of a ``call_*`` node's partition; called once per node, in graph order.
        qualname_map: filled with ``{"submod_0.conv1": "conv1", …}``: new qualified names mapped to the old ones.
        keep_original_order: call the submodules in the order of their first nodes in ``m``, instead of in topological
            order.
        keep_original_node_name: nodes keep their names.
        keep_original_input_name: submodules name their inputs after the original nodes, not ``arg_0``, ``arg_1``.
        partition_affix: if given, submodules are called ``submod_<affix>_<id>``.
        tuple_return: submodules return a tuple even for a single value.

    Returns:
        The outer module, with children ``submod_<id>``; ``meta["partition_names"]`` is the set of their names.

    Raises:
        RuntimeError: partitions depend on each other in a cycle.
        KeyError: with ``keep_original_order``, a submodule would be called before another whose value it needs.
        AssertionError: the graph enters autocast but never leaves it; or it changes a global state, and the partitions'
            identifiers aren't in ascending order along the graph.
    """
    partitioning = _Partitioning(m, split_callback, partition_affix)
    partitioning.check_regions()
    partitioning.connect()
    appearance = list(partitioning.partitions.values())
    topological = _topological_order(partitioning.partitions)
    partitioning.enter_regions()
    for partition in topological:
        _add_inputs(m, partition, partitioning.nodes_by_name, keep_original_input_name)
    _copy_nodes(m, partitioning, qualname_map, keep_original_node_name)
    partitioning.leave_regions()

    outer = _OuterModule(m, keep_original_node_name, tuple_return)
    # torch.fx fetches attributes just before the first call that needs them if it keeps the order and there is a call.
    when_needed = keep_original_order and bool(appearance)
    outer.add_inputs(lambda node: node.op == "placeholder" or not when_needed)
    for partition in appearance if keep_original_order else topological:
        outer.add_call(partition, partitioning.nodes_by_name)
    result = outer.finish()
    result.meta["partition_names"] = {partition.submod_name for partition in appearance}
    return result


def split_module_simple(
    m: GraphModule, node_to_partition: Mapping[Node, int], *, partition_affix: str | None = None
) -> GraphModule:
    """Split ``m`` by a table from each ``call_*`` node to its partition; submodules are called in order of appearance.

    Raises:
        KeyError: a ``call_*`` node is missing from the table.
        RuntimeError: partitions depend on each other in a cycle.
    """
    return split_module(m, m, node_to_partition.__getitem__, keep_original_order=True, partition_affix=partition_affix)


class _Partitioning:
    """Which partition each node belongs to, the values that cross partitions, and the regions of global state."""

    def __init__(self, m: GraphModule, split_callback: Callable[[Node], int], affix: str | None) -> None:
        self.nodes = list(m.graph.nodes)
        self.nodes_by_name = {node.name: node for node in self.nodes}
        self.partitions: dict[str, Partition] = {}
        self.ids: dict[Node, int] = {}
        self.partition_of: dict[Node, Partition] = {}
        for node in self.nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                self._assign(node, split_callback(node), affix)
        self.autocasts = self._autocast_regions()
        self.grad_modes = self._grad_mode_regions()

    def _assign(self, node: Node, identifier: int, affix: str | None) -> None:
        name = str(identifier) if affix is None else f"{affix}_{identifier}"
        if name not in self.partitions:
            self.partitions[name] = Partition(name)
        self.ids[node] = identifier
        self.partition_of[node] = self.partitions[name]
        self.partitions[name].node_names.append(node.name)

    def _autocast_regions(self) -> list[_Region]:
        regions: dict[Any, _Region] = {}
        active: dict[Any, _Region] = {}
        for node in self.ids:
            if node.target is enter_autocast:
                regions[node] = active[node] = _Region(node)
            elif node.target is exit_autocast:
                region = active.pop(node.args[0])
                region.exit = node
                self._touch(region, node)
            for region in active.values():
                self._touch(region, node)
        return list(regions.values())

    def _grad_mode_regions(self) -> list[_Region]:
        regions: list[_Region] = []
        for node in self.ids:
            if node.target is set_grad_enabled:
                regions.append(_Region(node))
            if regions:
                self._touch(regions[-1], node)
        return regions

    def _touch(self, region: _Region, node: Node) -> None:
        region.partitions[self.ids[node]] = self.partition_of[node]

    def check_regions(self) -> None:
        """Raise AssertionError if the regions of global state can't be split along the partitions."""
        if any(region.exit is None for region in self.autocasts):
            raise AssertionError("the graph enters autocast but never leaves it")
        ids = list(self.ids.values())
        if (self.autocasts or self.grad_modes) and ids != sorted(ids):
            raise AssertionError(
                f"with autocast or set_grad_enabled, partition IDs must be in ascending order, not {ids}"
            )

    def connect(self) -> None:
        """Record every value that is computed in one partition, or is an input, and is used in another or returned."""
        for node in self.nodes:
            # Nodes that set or reset a state are repeated in each partition, so their values don't cross partitions.
            if node.target in (enter_autocast, exit_autocast, set_grad_enabled):
                continue
            if node.op == "output" or node in self.partition_of:
                for used in node.all_input_nodes:
                    self._cross(used, self.partition_of.get(used), self.partition_of.get(node))

    @staticmethod
    def _cross(value: Node, made_in: Partition | None, used_in: Partition | None) -> None:
        if made_in is used_in:
            return
        if made_in is not None:
            made_in.outputs[value.name] = None
        if used_in is not None:
            used_in.inputs[value.name] = None
        if made_in is not None and used_in is not None:
            made_in.dependents[used_in.name] = None
            used_in.dependencies[made_in.name] = None

    def enter_regions(self) -> None:
        """Set the state of each region again in all of its partitions except the first."""
        for region in (*self.autocasts, *self.grad_modes):
            for partition in region.in_order()[1:]:
                partition.environment[region.enter] = partition.add_copy(region.enter, region.enter.args, {})

    def leave_regions(self) -> None:
        """Leave each autocast region, innermost first, in all of its partitions except the last."""
        for region in reversed(self.autocasts):
            assert region.exit is not None  # ensured by check_regions
            for partition in region.in_order()[:-1]:
                partition.add_copy(region.exit, (partition.environment[region.enter],), {})


def _topological_order(partitions: Mapping[str, Partition]) -> list[Partition]:
    """The partitions in an order in which each comes after all that it depends on; empties their ``dependencies``.

    Source: A. B. Kahn, "Topological sorting of large networks", CACM 5 (1962), with a stack of ready partitions.
    """
    ready = [partition for partition in partitions.values() if not partition.dependencies]
    order: list[Partition] = []
    while ready:
        partition = ready.pop()
        order.append(partition)
        for name in partition.dependents:
            dependent = partitions[name]
            del dependent.dependencies[partition.name]
            if not dependent.dependencies:
                ready.append(dependent)
    if len(order) != len(partitions):
        raise RuntimeError("the partitions depend on each other in a cycle")
    return order


def _attribute(m: nn.Module, node: Node) -> Any:
    """The attribute of ``m`` whose qualified name is the target of ``node``."""
    return operator.attrgetter(str(node.target))(m)


def _add_inputs(m: GraphModule, partition: Partition, nodes_by_name: Mapping[str, Node], keep_name: bool) -> None:
    """Give the partition a placeholder for each input; a module fetched by ``get_attr`` becomes its submodule."""
    modules: list[Node] = []
    values: list[Node] = []
    for name in partition.inputs:
        node = nodes_by_name[name]
        is_module = node.op == "get_attr" and isinstance(_attribute(m, node), nn.Module)
        (modules if is_module else values).append(node)
    for index, node in enumerate(values):
        placeholder = partition.graph.placeholder(node.name if keep_name else f"arg_{index}", type_expr=node.type)
        _stand_in(partition, node, placeholder)
    for node in modules:
        target = str(node.target)
        partition.targets[target] = _attribute(m, node)
        _stand_in(partition, node, partition.graph.get_attr(target))
    partition.inputs = {node.name: None for node in values}


def _stand_in(partition: Partition, original: Node, node: Node) -> None:
    node.meta = original.meta.copy()
    partition.environment[original] = node


def _copy_nodes(
    m: GraphModule, partitioning: _Partitioning, qualname_map: MutableMapping[str, str] | None, keep_name: bool
) -> None:
    """Copy each node into its partition, and the modules that nodes call to the top level of their partition."""
    for node, partition in partitioning.partition_of.items():
        target = node.target
        if node.op == "call_module":
            target = str(node.target).replace(".", "_")
            partition.targets[target] = _attribute(m, node)
            if qualname_map is not None:
                qualname_map[f"{partition.submod_name}.{target}"] = str(node.target)
        find = partition.environment.__getitem__
        partition.environment[node] = partition.add_copy(
            node,
            map_arg(node.args, find),
            map_arg(node.kwargs, find),
            target=target,
            name=node.name if keep_name else None,
        )


class _OuterModule:
    """Builds the module that fetches inputs, calls the submodules and returns what the original returned."""

    def __init__(self, m: GraphModule, keep_original_node_name: bool, tuple_return: bool) -> None:
        self.m = m
        self.keep_original_node_name = keep_original_node_name
        self.tuple_return = tuple_return
        self.graph = Graph()
        self.attributes: dict[str, Any] = {}
        self.environment: dict[str, Node] = {}

    def add_inputs(self, wanted: Callable[[Node], bool]) -> None:
        """Copy the placeholders and ``get_attr`` nodes for which ``wanted`` returns true, in the original order."""
        self._fetch(node for node in self.m.graph.nodes if wanted(node))

    def _fetch(self, nodes: Iterable[Node]) -> None:
        """Copy the placeholders and ``get_attr`` nodes among ``nodes`` that have not been copied before."""
        for node in nodes:
            if node.name in self.environment or node.op not in ("placeholder", "get_attr"):
                continue
            if node.op == "placeholder":
                copied = self._placeholder(node)
            else:
                copied = self.graph.get_attr(str(node.target))
                self.attributes[str(node.target)] = _attribute(self.m, node)
            copied.meta = node.meta.copy()
            self.environment[node.name] = copied

    def _placeholder(self, node: Node) -> Node:
        name = node.name if self.keep_original_node_name else str(node.target)
        return self.graph.create_node("placeholder", name, node.args, type_expr=node.type)

    def add_call(self, partition: Partition, nodes_by_name: Mapping[str, Node]) -> None:
        """Finish the partition's submodule and call it."""
        outputs = tuple(partition.environment[nodes_by_name[name]] for name in partition.outputs)
        alone = len(outputs) == 1 and not self.tuple_return
        partition.graph.output(outputs[0] if alone else outputs)
        self.attributes[partition.submod_name] = GraphModule(partition.targets, partition.graph)

        self._fetch(nodes_by_name[name] for name in partition.inputs)
        call = self.graph.call_module(partition.submod_name, tuple(self.environment[name] for name in partition.inputs))
        for index, name in enumerate(partition.outputs):
            self.environment[name] = call if alone else self.graph.call_function(operator.getitem, (call, index))

    def finish(self) -> GraphModule:
        """Add the output, which returns what the original returned; return the finished module."""
        output = self.m.graph.output_node()
        self._fetch(sorted(output.all_input_nodes) if self.environment else self.m.graph.nodes)
        self.graph.output(map_arg(output.args[0], lambda node: self.environment[node.name]))
        return GraphModule(self.attributes, self.graph)
