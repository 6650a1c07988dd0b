"""Changes to a list of partitions: placing them on devices, combining them, and exchanging nodes between them.

Source: the results are those of ``torch.fx.experimental.accelerator_partitioner``, except for exchanges: in torch.fx,
the last trial for a node counts as the best, and the module is divided as it was before the exchanges.
"""

import itertools
import operator
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fxcore.experimental.partitioner_utils import (
    Device,
    NodeLatency,
    Partition,
    get_extra_size_of,
    get_latency_of_partitioned_graph,
    get_partition_to_latency_mapping,
)
from fxcore.node import Node


def reset_partition_device(partitions: list[Partition]) -> None:
    """Remove all partitions from their devices."""
    for partition in partitions:
        partition.logical_device_ids = []


def combine_two_partitions(partition_0: Partition, partition_1: Partition, partitions: list[Partition]) -> None:
    """Replace two partitions in the list with one partition that has the nodes of both, at the end of the list."""
    combined = Partition(len(partitions))
    combined.nodes = partition_0.nodes | partition_1.nodes
    combined.recalculate_mem_size()
    partitions.append(combined)
    partitions.remove(partition_0)
    partitions.remove(partition_1)
    reorganize_partitions(partitions)


def set_parents_and_children(partitions: list[Partition]) -> None:
    """Set each partition's parents (whose values it uses) and children (which use its values)."""
    homes: dict[Node, list[Partition]] = defaultdict(list)
    for partition in partitions:
        partition.parents, partition.children = set(), set()
        for node in partition.nodes:
            homes[node].append(partition)
    for node, makers in homes.items():
        users = {home for user in node.users for home in homes.get(user, ()) if node not in home.nodes}
        for maker in makers:
            maker.children |= users
            for user in users:
                user.parents.add(maker)


def reorganize_partitions(partitions: list[Partition]) -> None:
    """Number the partitions by their position in the list, and set their parents and children."""
    for index, partition in enumerate(partitions):
        partition.partition_id = index
    set_parents_and_children(partitions)


def get_bfs_level_partition(partitions: list[Partition]) -> None:
    """Set each partition's level, the length of the longest path to it. There must be no cycles."""
    current = {partition for partition in partitions if not partition.parents}
    level = 0
    while current:
        for partition in current:
            partition.bfs_level = level
        current = {child for partition in current for child in partition.children}
        level += 1


def get_node_to_partition_mapping(partitions: list[Partition]) -> dict[Node, int]:
    """Map each node to the number of its partition."""
    return {node: partition.partition_id for partition in partitions for node in partition.nodes}


def get_logical_id_to_device(devices: list[Device]) -> dict[int, Device]:
    """Map the number of each device to the device."""
    return {device.logical_id: device for device in devices}


def get_device_partition_stats(
    partitions: list[Partition], devices: list[Device]
) -> tuple[dict[Device, list[Partition]], dict[Device, int], list[Partition]]:
    """The partitions on each device, the bytes that are left on it, and the partitions without a device."""
    by_id = get_logical_id_to_device(devices)
    on_device: dict[Device, list[Partition]] = {device: [] for device in devices}
    left = {device: device.available_mem_bytes for device in devices}
    for partition in partitions:
        for logical_id in partition.logical_device_ids:
            on_device[by_id[logical_id]].append(partition)
            left[by_id[logical_id]] -= partition.used_mem_bytes
    return on_device, left, [partition for partition in partitions if not partition.logical_device_ids]


def get_device_to_partitions_mapping(partitions: list[Partition], devices: list[Device]) -> bool:
    """Put each partition without a device on the fullest device that it fits on; return False if it fits on none."""
    on_device, left, homeless = get_device_partition_stats(partitions, devices)
    for partition in homeless:
        left = dict(sorted(left.items(), key=operator.itemgetter(1)))
        for device, room in left.items():
            needed = _extra_bytes(partition, on_device[device])
            if needed < room:
                on_device[device].append(partition)
                partition.logical_device_ids.append(device.logical_id)
                left[device] -= needed
                break
        else:
            return False
    return True


def _extra_bytes(partition: Partition, others: list[Partition]) -> int:
    """The bytes that the partition needs in addition to ``others`` on the same device."""
    there: set[Node] = set().union(*(other.nodes for other in others))
    if not there:
        return partition.used_mem_bytes
    return sum(get_extra_size_of(node, there | partition.nodes) for node in partition.nodes)


def check_dependency(partition: Partition) -> bool:
    """Whether the partition depends on its own values, through other partitions."""
    queue = list(partition.children)
    seen = set(queue)
    for each in queue:  # it grows during the loop
        new = each.children - seen
        seen |= new
        queue += new
    return partition in seen


_IMPOSSIBLE = float("inf")


@dataclass(frozen=True)
class CostModel:
    """The time that partitions take on devices.

    Attributes:
        devices: the devices on which partitions can be placed.
        transfer_rate: the transfer rate between devices, in bytes per second.
        latencies: the time that each node takes.
    """

    devices: list[Device]
    transfer_rate: float
    latencies: Mapping[Node, NodeLatency]

    def seconds(self, partitions: list[Partition]) -> float:
        """The time that the partitions take on their current devices."""
        times = get_partition_to_latency_mapping(partitions, self.latencies)
        return get_latency_of_partitioned_graph(partitions, times, self.transfer_rate)

    def _placed(self, partitions: list[Partition]) -> bool:
        """Place the partitions on devices anew; return False if they don't fit."""
        reset_partition_device(partitions)
        return get_device_to_partitions_mapping(partitions, self.devices)

    def combine(self, partitions: list[Partition]) -> None:
        """Repeatedly combine the two partitions whose union makes the graph fastest, until that would slow it down."""
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
        """The time that the graph would take with two partitions combined; infinite if they can't be combined."""
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
        """Move each node to another partition, possibly in exchange for another node, if that makes the graph faster.

        Args:
            partitions: the partitions; they and their devices are changed in place.
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
        """The time that the graph would take after an exchange; infinite if the exchange isn't possible."""
        exchange.make()
        reorganize_partitions(partitions)
        possible = exchange.is_possible() and self._placed(partitions)
        cost = self.seconds(partitions) if possible else _IMPOSSIBLE
        exchange.undo()
        reorganize_partitions(partitions)
        return cost


@dataclass(frozen=True)
class _Exchange:
    """The move of a node from its home to another partition, and of a counterpart, if any, the other way."""

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
        """Whether, after the exchange, neither partition lacks operations or depends on its own values."""
        return not any(check_dependency(each) or not _operations(each) for each in (self.home, self.other))


def _operations(partition: Partition) -> list[Node]:
    return [node for node in sorted(partition.nodes) if node.op.startswith("call_")]


def _exchanges(partitions: list[Partition], node: Node, home: Partition) -> Iterator[_Exchange]:
    for other in partitions:
        if other is not home:
            for counterpart in (*_operations(other), None):
                yield _Exchange(node, counterpart, home, other)
