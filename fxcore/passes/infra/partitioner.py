"""Group the nodes that a backend supports into partitions as large as the flow of data allows."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.nodes.qualified_name import _get_qualified_name
from fxcore.passes.operator_support import OperatorSupportBase
from fxcore.passes.topology import topo_sort
from fxcore.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

logger = logging.getLogger(__name__)


class Partition:
    """Nodes that are to be replaced by one node.

    Attributes:
        id: The partition's number.
        nodes: The nodes, mapped to their positions, which are counted from the graph's end, or to None.
    """

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None
    ) -> None:
        """Make a partition.

        Raises:
            AssertionError: Positions are given, but not as many as nodes.
        """
        self.id = id
        self.nodes: dict[Node, int | None] = dict.fromkeys(nodes or ())
        if node_orders is not None:
            orders = list(node_orders)
            if len(orders) != len(self.nodes):
                raise AssertionError(
                    f"The partition has {len(self.nodes)} nodes, but {len(orders)} positions were given"
                )
            self.nodes = dict(zip(self.nodes, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node, or change its position."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Remove a node. Raises ``KeyError`` if the partition doesn't contain it."""
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


@dataclass(eq=False)
class CapabilityBasedPartitioner:
    """Finds partitions of supported nodes, and replaces them with submodules.

    Attributes:
        graph_module: The module with the graph.
        operator_support: Decides which nodes are supported.
        allows_single_node_partition: Whether to keep partitions with only one computing node.
        non_compute_ops: The qualified names of functions whose calls don't count as computing anything, in addition to
            ``torch.ops.aten.view`` and ``_operator.getitem``.
        allowed_single_node_partition_ops: The qualified names of functions whose call may be the only computing node
            of a partition.
        skip_horizontal_fusion: Whether to unite nodes only with partitions that use their values, instead of with all
            partitions that they can be united with.
    """

    graph_module: GraphModule
    operator_support: OperatorSupportBase
    allows_single_node_partition: bool = False
    non_compute_ops: Sequence[str] | None = None
    allowed_single_node_partition_ops: Sequence[str] | None = None
    skip_horizontal_fusion: bool = False

    def __post_init__(self) -> None:
        self._submodules = dict(self.graph_module.named_modules())

    def propose_partitions(self) -> list[Partition]:
        """Find the partitions; replacing all of them leaves the graph acyclic.

        Nodes are processed from the graph's end to its start. Each supported node is united with every earlier
        partition that it can be united with. Nodes that read items of a tuple go to the partition of the node that
        returns the tuple.
        """
        merger = _Merger()
        for order, node in enumerate(reversed(self.graph_module.graph.nodes)):
            if self._is_node_supported(node):
                merger.add_supported(node, order, only_users=self.skip_horizontal_fusion)
            else:
                merger.add_unsupported(node)
        partitions = merger.partitions()
        _move_items_to_their_tuples(self.graph_module, partitions)
        if not self.allows_single_node_partition:
            partitions = [partition for partition in partitions if self._may_stand_alone(partition)]
        logger.debug("Proposed partitions: %s", partitions)
        return [partition for partition in partitions if partition.size()]

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Replace partitions with submodules called ``prefix`` and a number; returns the changed module."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix=prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Find the partitions and replace them."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Remove nodes that don't compute anything from the start and the end of each partition.

        At the start, these are the calls to ``non_compute_ops`` whose inputs are all outside the partition,
        placeholders, or also removed; at the end, the same applies to their users.
        """
        non_compute_ops = set(self.non_compute_ops or ())
        for partition in partitions:
            inside = partition.nodes
            candidates = [node for node in topo_sort(list(inside)) if _function_name(node) in non_compute_ops]
            at_start = _closed(candidates, inside.keys(), lambda node: node.all_input_nodes)
            at_end = _closed(reversed(candidates), inside.keys(), lambda node: node.users)
            for node in at_start | at_end:
                partition.remove_node(node)

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(self._submodules, node)

    def _may_stand_alone(self, partition: Partition) -> bool:
        """Whether a partition has at least two computing nodes, or a single one that may be alone."""
        non_compute_ops = {"torch.ops.aten.view", "_operator.getitem", *(self.non_compute_ops or ())}
        names = [name for node in partition.nodes if (name := _function_name(node)) is not None]
        computing = sum(name not in non_compute_ops for name in names)
        allowed = sum(name in (self.allowed_single_node_partition_ops or ()) for name in names)
        return computing + allowed > 1


@dataclass(eq=False)
class _Unit:
    """A partition, or a node that isn't in any partition.

    Attributes:
        slot: The bit that identifies the partition; 0 if there is none.
        reach: The bits of all partitions that depend on this unit, directly or not.
        partition: The partition, if there is one.
    """

    slot: int
    reach: int
    partition: Partition | None = None


class _Merger:
    """Unites supported nodes, given in reverse topological order, into partitions without dependency cycles.

    Two partitions can be united unless a path leads from one to the other through a node in neither. A new node doesn't
    use any earlier one, so it suffices to record which partitions depend on which, as bit sets in integers. The merger
    tries to unite a new node with every partition that uses it. If it can't unite them, a path also leads from one to
    the other through another unit. Therefore only the new node's direct uses must be distinguished from indirect ones.
    """

    def __init__(self) -> None:
        self._unit_of: dict[Node, _Unit] = {}
        self._units: dict[_Unit, None] = {}
        self._by_slot: dict[int, _Unit] = {}
        self._next_id = 0
        self._next_slot = 1

    def add_unsupported(self, node: Node) -> None:
        """Add a node that must not be in any partition."""
        users = self._users_of(node)
        reach = 0
        for user in users:
            reach |= user.slot | user.reach
        self._add(node, _Unit(0, reach))

    def add_supported(self, node: Node, order: int, only_users: bool) -> None:
        """Add a node, and unite it as far as possible with all partitions, or only with its users' partitions."""
        users = self._users_of(node)
        unit = _Unit(self._next_slot, 0, Partition(self._next_id, [node], [order]))
        self._next_id += 1
        for user in users:
            unit.reach |= user.reach
        self._add(node, unit)
        for other in users if only_users else list(self._by_slot.values()):
            if other.slot and not (unit.reach & other.slot or other.reach & unit.slot):
                unit = self._unite(unit, other)
        if unit.slot == self._next_slot:
            self._by_slot[unit.slot] = unit
            self._next_slot <<= 1

    def partitions(self) -> list[Partition]:
        """The partitions in the order of their ids, each with its nodes in topological order."""
        found = [cast(Partition, unit.partition) for unit in self._by_slot.values()]
        for partition in found:
            partition.nodes = dict(sorted(partition.nodes.items(), key=lambda item: -cast(int, item[1])))
        return sorted(found, key=lambda partition: cast(int, partition.id))

    def _users_of(self, node: Node) -> list[_Unit]:
        return list(dict.fromkeys(self._unit_of[user] for user in node.users))

    def _add(self, node: Node, unit: _Unit) -> None:
        self._unit_of[node] = unit
        self._units[unit] = None

    def _unite(self, unit: _Unit, other: _Unit) -> _Unit:
        """Unite two partitions: the larger one is kept, with the lower of the two slots."""
        kept, removed = (unit, other) if _size(unit) >= _size(other) else (other, unit)
        nodes = cast(Partition, removed.partition).nodes
        cast(Partition, kept.partition).nodes.update(nodes)
        self._unit_of.update(dict.fromkeys(nodes, kept))
        del self._units[removed]
        self._update_reach(kept, unit, other)
        return kept

    def _update_reach(self, united: _Unit, unit: _Unit, other: _Unit) -> None:
        """Make ``united`` represent both partitions: in its slot, in what it reaches, and in what reaches it."""
        both = unit.slot | other.slot
        slot = min(unit.slot, other.slot)
        known = (unit.reach | other.reach) & ~both | slot
        # Nothing reaches a new unit. What reaches `other` needs no update if `other` already reaches all of `known`.
        if unit.slot != self._next_slot or known & ~(other.reach | other.slot):
            for each in self._units:
                if each.reach & both:
                    each.reach |= known
        united.slot, united.reach = slot, known & ~slot
        self._by_slot.pop(both & ~slot, None)
        self._by_slot[slot] = united


def _size(unit: _Unit) -> int:
    return cast(Partition, unit.partition).size()


def _move_items_to_their_tuples(graph_module: GraphModule, partitions: Iterable[Partition]) -> None:
    """Move nodes that read an item of a tuple to the partition of the node that returns the tuple.

    If that node is in no partition, the nodes that read its items are removed from their partitions. A node counts as
    returning a tuple if all its users read an item of its value.
    """
    home: dict[Node, Partition] = {node: partition for partition in partitions for node in partition.nodes}
    changed: Iterable[Node] = graph_module.graph.nodes
    while changed:
        moves: dict[Node, Partition | None] = {}
        for node in changed:
            if all(user.target is operator.getitem for user in node.users):
                moves.update((user, home.get(node)) for user in node.users if home.get(user) is not home.get(node))
        for item, destination in moves.items():
            if item in home:
                home.pop(item).remove_node(item)
            if destination is not None:
                home[item] = destination
                destination.add_node(item)
        changed = sorted(moves)


def _closed(
    nodes: Iterable[Node], inside: Container[Node], neighbours: Callable[[Node], Iterable[Node]]
) -> dict[Node, None]:
    """The ``nodes`` whose neighbors in ``inside`` are all placeholders or earlier nodes of the result."""
    closed: dict[Node, None] = {}
    for node in nodes:
        if all(each.op == "placeholder" or each not in inside or each in closed for each in neighbours(node)):
            closed[node] = None
    return closed


def _function_name(node: Node) -> str | None:
    """The qualified name of the function that a node calls; None if it doesn't call one."""
    return _get_qualified_name(node.target) if node.op == "call_function" else None
