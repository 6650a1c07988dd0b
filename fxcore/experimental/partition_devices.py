"""Changes to a list of partitions, and their way to devices.

Source: the results are those of ``torch.fx.experimental.accelerator_partitioner``.
"""

import operator
from collections import defaultdict

from fxcore.experimental.partitioner_utils import Device, Partition, get_extra_size_of
from fxcore.node import Node

__all__ = [
    "check_dependency",
    "combine_two_partitions",
    "get_bfs_level_partition",
    "get_device_partition_stats",
    "get_device_to_partitions_mapping",
    "get_logical_id_to_device",
    "get_node_to_partition_mapping",
    "reorganize_partitions",
    "reset_partition_device",
    "set_parents_and_children",
]


def reset_partition_device(partitions: list[Partition]) -> None:
    """Take all partitions off their devices."""
    for partition in partitions:
        partition.logical_device_ids = []


def combine_two_partitions(partition_0: Partition, partition_1: Partition, partitions: list[Partition]) -> None:
    """Replace two partitions in the list by one with the nodes of both, at the end."""
    combined = Partition(len(partitions))
    combined.nodes = partition_0.nodes | partition_1.nodes
    combined.recalculate_mem_size()
    partitions.append(combined)
    partitions.remove(partition_0)
    partitions.remove(partition_1)
    reorganize_partitions(partitions)


def set_parents_and_children(partitions: list[Partition]) -> None:
    """Find out which partition uses values of which."""
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
    """Number the partitions by their place in the list, and find their parents and children."""
    for index, partition in enumerate(partitions):
        partition.partition_id = index
    set_parents_and_children(partitions)


def get_bfs_level_partition(partitions: list[Partition]) -> None:
    """Set each partition's level, the length of the longest way to it. They must not be circular."""
    current = {partition for partition in partitions if not partition.parents}
    level = 0
    while current:
        for partition in current:
            partition.bfs_level = level
        current = {child for partition in current for child in partition.children}
        level += 1


def get_node_to_partition_mapping(partitions: list[Partition]) -> dict[Node, int]:
    """The number of each node's partition."""
    return {node: partition.partition_id for partition in partitions for node in partition.nodes}


def get_logical_id_to_device(devices: list[Device]) -> dict[int, Device]:
    """The devices by their numbers."""
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
    """Put each partition without a device on the fullest one that still has room; False where there is none."""
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
    """What the partition needs on a device where others are, whose values don't count again."""
    there: set[Node] = set().union(*(other.nodes for other in others))
    if not there:
        return partition.used_mem_bytes
    return sum(get_extra_size_of(node, there | partition.nodes) for node in partition.nodes)


def check_dependency(partition: Partition) -> bool:
    """Whether the partition needs, in the end, its own values."""
    queue = list(partition.children)
    seen = set(queue)
    for each in queue:  # it grows on the way
        new = each.children - seen
        seen |= new
        queue += new
    return partition in seen
