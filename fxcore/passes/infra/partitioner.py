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
    """Nodes that are to become one.

    Attributes:
        id: A number.
        nodes: The nodes; the values are their positions, counted from the graph's end, or None.
    """

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None
    ) -> None:
        """Make a partition.

        Raises:
            AssertionError: There are positions, but not as many as nodes.
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
        """Remove a node; ``KeyError`` if it is not there."""
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


@dataclass(eq=False)
class CapabilityBasedPartitioner:
    """Finds partitions of supported nodes, and replaces them by submodules.

    Attributes:
        graph_module: The module with the graph.
        operator_support: Which nodes are supported.
        allows_single_node_partition: Whether partitions that compute only one thing are kept.
        non_compute_ops: Functions, by qualified name, that don't count as computing anything; neither do
            ``torch.ops.aten.view`` and ``_operator.getitem``.
        allowed_single_node_partition_ops: Functions, by qualified name, that may be the only one in a partition.
        skip_horizontal_fusion: Whether nodes are put together only with such as use their values. Otherwise all nodes
            are that can be.
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

        Nodes are taken from the graph's end to its start; each supported one is united with every partition made
        before that can be united with it. Items of tuples go with what yields the tuple.
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
        """Replace partitions by submodules called ``prefix`` and a number; returns the changed module."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix=prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Find the partitions and replace them."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take the nodes at the border of each partition out of it that compute nothing.

        Those are calls of ``non_compute_ops`` all of whose inputs, or all of whose users, are outside, or such calls.
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
        """Whether a partition computes at least two things, or one that may be alone."""
        non_compute_ops = {"torch.ops.aten.view", "_operator.getitem", *(self.non_compute_ops or ())}
        names = [name for node in partition.nodes if (name := _function_name(node)) is not None]
        computing = sum(name not in non_compute_ops for name in names)
        allowed = sum(name in (self.allowed_single_node_partition_ops or ()) for name in names)
        return computing + allowed > 1


@dataclass(eq=False)
class _Unit:
    """A node that is in no partition, or a partition.

    Attributes:
        slot: The bit that stands for the partition; 0 if there is none.
        reach: The bits of all partitions that are computed from this unit, through others if need be.
        partition: The partition, if there is one.
    """

    slot: int
    reach: int
    partition: Partition | None = None


class _Merger:
    """Unites supported nodes, given in reverse topological order, to partitions that don't use each other in a circle.

    Two partitions can be united unless a path leads from one to the other through something else. Nothing known so far
    is used by the node at hand, so all there is to know is who is computed from whom: sets of partitions, kept as the
    bits of integers. A node is tried on every partition that uses it; what then remains apart from it reaches it, or is
    reached by it, through something else too. So direct uses need not be told from others, but for the new node's.
    """

    def __init__(self) -> None:
        self._unit_of: dict[Node, _Unit] = {}
        self._units: dict[_Unit, None] = {}
        self._by_slot: dict[int, _Unit] = {}
        self._next_id = 0
        self._next_slot = 1

    def add_unsupported(self, node: Node) -> None:
        """Take in a node that is to be in no partition."""
        users = self._users_of(node)
        reach = 0
        for user in users:
            reach |= user.slot | user.reach
        self._add(node, _Unit(0, reach))

    def add_supported(self, node: Node, order: int, only_users: bool) -> None:
        """Take in a node, and unite it with all partitions, or with those of its users, as far as possible."""
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
        """Make one of two partitions; the larger one stays, under the slot that was taken first."""
        kept, removed = (unit, other) if _size(unit) >= _size(other) else (other, unit)
        nodes = cast(Partition, removed.partition).nodes
        cast(Partition, kept.partition).nodes.update(nodes)
        self._unit_of.update(dict.fromkeys(nodes, kept))
        del self._units[removed]
        self._update_reach(kept, unit, other)
        return kept

    def _update_reach(self, united: _Unit, unit: _Unit, other: _Unit) -> None:
        """Let ``united`` stand for both partitions: in its slot, in what it reaches, and in what reaches it."""
        both = unit.slot | other.slot
        slot = min(unit.slot, other.slot)
        known = (unit.reach | other.reach) & ~both | slot
        # Nothing reaches a new unit yet; what reaches the other one has nothing to learn if that reached all of this.
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
    """Move the items of a tuple to the partition of the node that yields it, or out of theirs if that is in none.

    A node counts as yielding a tuple if items are all that is used of it.
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
    """Those of ``nodes`` that have no neighbours inside but placeholders and each other; ``nodes`` come in order."""
    closed: dict[Node, None] = {}
    for node in nodes:
        if all(each.op == "placeholder" or each not in inside or each in closed for each in neighbours(node)):
            closed[node] = None
    return closed


def _function_name(node: Node) -> str | None:
    """The qualified name of the function that a node calls, if it does."""
    return _get_qualified_name(node.target) if node.op == "call_function" else None
