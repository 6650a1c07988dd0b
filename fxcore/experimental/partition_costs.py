"""Makes partitions faster: combines them, or exchanges nodes between them.

Source: the results are those of ``torch.fx.experimental.accelerator_partitioner``, but for exchanges: there, a node's
last trial counts as its best, and the module is divided as it was before the exchanges.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fxcore.experimental.partition_devices import (
    check_dependency,
    combine_two_partitions,
    get_bfs_level_partition,
    get_device_to_partitions_mapping,
    reorganize_partitions,
    reset_partition_device,
    set_parents_and_children,
)
from fxcore.experimental.partitioner_utils import (
    Device,
    NodeLatency,
    Partition,
    get_latency_of_partitioned_graph,
    get_partition_to_latency_mapping,
)
from fxcore.node import Node

__all__ = ["CostModel"]

_IMPOSSIBLE = float("inf")


@dataclass(frozen=True)
class CostModel:
    """The time that partitions take on some devices.

    Attributes:
        devices: where partitions can be.
        transfer_rate: bytes per second between devices.
        latencies: the time of each node.
    """

    devices: list[Device]
    transfer_rate: float
    latencies: Mapping[Node, NodeLatency]

    def seconds(self, partitions: list[Partition]) -> float:
        """The time that the partitions take where they are."""
        times = get_partition_to_latency_mapping(partitions, self.latencies)
        return get_latency_of_partitioned_graph(partitions, times, self.transfer_rate)

    def _placed(self, partitions: list[Partition]) -> bool:
        """Put the partitions on devices anew; False where they don't fit."""
        reset_partition_device(partitions)
        return get_device_to_partitions_mapping(partitions, self.devices)

    def combine(self, partitions: list[Partition]) -> None:
        """Combine the two partitions that make the whole fastest, as long as it gets no slower."""
        set_parents_and_children(partitions)
        get_bfs_level_partition(partitions)
        while self._combine_best(partitions):
            pass
        reorganize_partitions(partitions)

    def _combine_best(self, partitions: list[Partition]) -> bool:
        least = self.seconds(partitions)
        best: tuple[Partition, Partition] | None = None
        for pair in itertools.combinations(partitions, 2):
            cost = self._combined(partitions, *pair)
            if cost <= least:
                best, least = pair, cost
        if best is not None:
            combine_two_partitions(*best, partitions)
        get_bfs_level_partition(partitions)
        self._placed(partitions)
        return best is not None

    def _combined(self, partitions: list[Partition], first: Partition, second: Partition) -> float:
        """What the whole would take with two partitions combined; infinite where they can't be."""
        near = abs(first.bfs_level - second.bfs_level) <= 1
        if not near and first not in second.parents and first not in second.children:
            return _IMPOSSIBLE
        trial = partitions[:]
        combine_two_partitions(first, second, trial)
        possible = not check_dependency(trial[-1]) and self._placed(trial)
        cost = self.seconds(trial) if possible else _IMPOSSIBLE
        reorganize_partitions(partitions)
        return cost

    def exchange(self, partitions: list[Partition], operations: list[Node]) -> None:
        """Move each node to another partition, maybe for one that comes back, where that helps most.

        Args:
            partitions: the partitions, changed in place; their devices, too.
            operations: the nodes, in the order in which to try them.
        """
        least = self.seconds(partitions)
        for node in operations:
            home = next(partition for partition in partitions if node in partition.nodes)
            best: _Exchange | None = None
            for exchange in _exchanges(partitions, node, home):
                cost = self._exchanged(partitions, exchange)
                if cost < least:
                    best, least = exchange, cost
            if best is not None:
                best.make()
                reorganize_partitions(partitions)
        self._placed(partitions)

    def _exchanged(self, partitions: list[Partition], exchange: "_Exchange") -> float:
        """What the whole would take after an exchange; infinite where it can't be."""
        exchange.make()
        reorganize_partitions(partitions)
        possible = exchange.is_possible() and self._placed(partitions)
        cost = self.seconds(partitions) if possible else _IMPOSSIBLE
        exchange.undo()
        reorganize_partitions(partitions)
        return cost


@dataclass(frozen=True)
class _Exchange:
    """A node goes from its home to another partition, and a counterpart, if there is one, the other way."""

    node: Node
    counterpart: Node | None
    home: Partition
    other: Partition

    def make(self) -> None:
        self._move(self.home, self.other)

    def undo(self) -> None:
        self._move(self.other, self.home)

    def _move(self, source: Partition, goal: Partition) -> None:
        source.remove_node(self.node)
        goal.add_node(self.node)
        if self.counterpart is not None:
            source.add_node(self.counterpart)
            goal.remove_node(self.counterpart)

    def is_possible(self) -> bool:
        """Whether, after it, neither partition is empty or needs its own values."""
        return not any(check_dependency(each) or not _operations(each) for each in (self.home, self.other))


def _operations(partition: Partition) -> list[Node]:
    return [node for node in sorted(partition.nodes) if node.op.startswith("call_")]


def _exchanges(partitions: list[Partition], node: Node, home: Partition) -> Iterator[_Exchange]:
    for other in partitions:
        if other is not home:
            for counterpart in (*_operations(other), None):
                yield _Exchange(node, counterpart, home, other)
