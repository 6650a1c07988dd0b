"""Partitions of a graph on devices: their memory, and the time that they take.

Source: the interface and results are those of ``torch.fx.experimental.partitioner_utils``.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple, cast

from fxcore.node import Node

__all__ = [
    "Device",
    "NodeLatency",
    "Partition",
    "PartitionLatency",
    "PartitionMode",
    "PartitionerConfig",
    "get_comm_latency_between",
    "get_extra_size_of",
    "get_latency_of_one_partition",
    "get_latency_of_partitioned_graph",
    "get_partition_to_latency_mapping",
]

_FETCHED = ("placeholder", "get_attr")


class Partition:
    """Nodes that run on the same devices, with the inputs and attributes that they use.

    ``parents`` are the partitions whose values this one uses, ``children`` those that use its values. ``bfs_level`` is
    the length of the longest path to it, and ``used_mem_bytes`` the memory that it needs.
    """

    def __init__(self, partition_id: int) -> None:
        self.partition_id = partition_id
        self.bfs_level = -1
        self.used_mem_bytes = 0
        self.nodes: set[Node] = set()
        self.logical_device_ids: list[int] = []
        self.parents: set[Partition] = set()
        self.children: set[Partition] = set()

    def __str__(self) -> str:
        return str(self.partition_id)

    def recalculate_mem_size(self) -> None:
        """Recompute ``used_mem_bytes`` from the sizes of the nodes."""
        self.used_mem_bytes = sum(get_extra_size_of(node, self.nodes) for node in self.nodes)

    def add_node(self, node: Node) -> None:
        """Add a node, and the inputs and attributes that it uses."""
        self.nodes.add(node)
        self.nodes.update(used for used in node.all_input_nodes if used.op in _FETCHED)
        self.recalculate_mem_size()

    def remove_node(self, node: Node) -> None:
        """Remove a node, if the partition contains it, with the inputs and attributes that only this node used."""
        if node not in self.nodes:
            return
        self.nodes.remove(node)
        for used in node.all_input_nodes:
            if used.op in _FETCHED and self.nodes.isdisjoint(used.users):
                self.nodes.discard(used)
        self.recalculate_mem_size()


# How to find partitions.
PartitionMode = Enum("PartitionMode", ["size_based", "sparse_nn", "cost_aware", "kl_based", "aot_based"], start=0)


class PartitionLatency(NamedTuple):
    """The seconds that the slowest path through a partition takes for memory traffic, for computation, and in total."""

    mem_latency_sec: float
    computer_latency_sec: float
    overall_latency_sec: float


_NO_TIME = PartitionLatency(0.0, 0.0, 0.0)


class NodeLatency(NamedTuple):
    """The seconds that a node takes for memory traffic and for computation; the two overlap."""

    mem_latency_sec: float
    computer_latency_sec: float


class Device(NamedTuple):
    """A device: its name, its free memory in bytes, and its number."""

    name: str
    available_mem_bytes: int
    logical_id: int


class PartitionerConfig(NamedTuple):
    """The configuration of a partitioner.

    The transfer rate between devices and the latencies of nodes are for the modes ``cost_aware`` and ``kl_based``; the
    mappings from nodes to partitions and from partitions to devices are for ``aot_based``. ``saturate_host`` puts
    further copies of the whole model on devices that would otherwise be idle.
    """

    devices: list[Device]
    mode: PartitionMode = PartitionMode.size_based
    transfer_rate_bytes_per_sec: float = 0.0
    node_to_latency_mapping: Mapping[Node, NodeLatency] = {}
    node_to_partition_mapping: Mapping[Node, int] = {}
    partition_to_logical_device_mapping: Mapping[int, list[int]] = {}
    saturate_host: bool = False


def _size(node: Node) -> Any:
    size = vars(node).get("size_bytes")
    if not size:
        raise RuntimeError("the node has no size_bytes attribute")
    return size


def get_extra_size_of(node: Node, nodes: set[Node]) -> int:
    """The bytes that the node needs, together with its inputs that aren't in ``nodes``.

    Raises:
        RuntimeError: the sizes haven't been set by `fxcore.passes.graph_manipulation.get_size_of_all_nodes`.
    """
    inputs = sum(_size(used).output_size for used in node.all_input_nodes if used not in nodes)
    return cast(int, inputs + _size(node).total_size)


def get_latency_of_one_partition(
    partition: Partition, node_to_latency_mapping: Mapping[Node, NodeLatency]
) -> PartitionLatency:
    """The time of the slowest path through the partition."""
    arriving: dict[Node, PartitionLatency] = {}
    ends: list[PartitionLatency] = []
    for node in sorted(partition.nodes):
        if node.op in _FETCHED:
            continue
        before = _slowest(arriving[used] for used in node.all_input_nodes if used in arriving)
        own = node_to_latency_mapping[node]
        arriving[node] = PartitionLatency(
            before.mem_latency_sec + own.mem_latency_sec,
            before.computer_latency_sec + own.computer_latency_sec,
            before.overall_latency_sec + max(own.computer_latency_sec, own.mem_latency_sec),
        )
        if partition.nodes.isdisjoint(node.users):
            ends.append(arriving[node])
    return _slowest(ends)


def _slowest(latencies: Iterable[PartitionLatency]) -> PartitionLatency:
    return max(latencies, key=lambda latency: latency.overall_latency_sec, default=_NO_TIME)


def get_partition_to_latency_mapping(
    partitions: list[Partition], node_to_latency_mapping: Mapping[Node, NodeLatency]
) -> dict[Partition, PartitionLatency]:
    """Map each partition to the time of the slowest path through it."""
    return {partition: get_latency_of_one_partition(partition, node_to_latency_mapping) for partition in partitions}


def get_comm_latency_between(
    parent_partition: Partition, child_partition: Partition, transfer_rate_bytes_per_sec: float
) -> float:
    """The seconds that it takes to transfer the parent's values to the child; 0 if both are on the same devices."""
    if parent_partition.logical_device_ids and (
        parent_partition.logical_device_ids == child_partition.logical_device_ids
    ):
        return 0.0
    used = {each for node in child_partition.nodes for each in node.all_input_nodes}
    sizes = [vars(node).get("size_bytes") for node in used & parent_partition.nodes]
    total: int = sum(size.output_size for size in sizes if size is not None)
    return total / transfer_rate_bytes_per_sec


def get_latency_of_partitioned_graph(
    partitions: list[Partition],
    partition_to_latency_mapping: Mapping[Partition, PartitionLatency],
    transfer_rate_bytes_per_sec: float,
) -> float:
    """The seconds that the slowest path through the partitions takes, including transfers. There must be no cycles."""
    leaving: dict[Partition, float] = {}

    def visit(partition: Partition) -> None:
        arriving = max(
            (
                leaving[parent] + get_comm_latency_between(parent, partition, transfer_rate_bytes_per_sec)
                for parent in partition.parents
            ),
            default=0.0,
        )
        leaving[partition] = arriving + partition_to_latency_mapping[partition].overall_latency_sec

    _each_after_its_parents(partitions, visit)
    return max((leaving[partition] for partition in partitions if not partition.children), default=0.0)


def _each_after_its_parents(partitions: list[Partition], visit: Callable[[Partition], None]) -> None:
    waiting = {partition: len(partition.parents) for partition in partitions}
    ready = [partition for partition in partitions if not partition.parents]
    for partition in ready:  # it grows during the loop
        visit(partition)
        for child in partition.children:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
