"""Divides a graph module into partitions that fit the memory of several devices.

Source: the interface and results are those of ``torch.fx.experimental.accelerator_partitioner``.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from fxcore.experimental.partition_placement import (
    CostModel,
    check_dependency,
    combine_two_partitions,
    get_bfs_level_partition,
    get_device_partition_stats,
    get_device_to_partitions_mapping,
    get_logical_id_to_device,
    get_node_to_partition_mapping,
    reorganize_partitions,
    reset_partition_device,
    set_parents_and_children,
)
from fxcore.experimental.partitioner_utils import (
    Device,
    NodeLatency,
    Partition,
    PartitionerConfig,
    PartitionMode,
    get_extra_size_of,
)
from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes.graph_manipulation import get_size_of_all_nodes
from fxcore.passes.split_module import split_module

__all__ = [
    "DAG",
    "DAGNode",
    "PartitionResult",
    "Partitioner",
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


Nodes = list[Node]


@dataclass(eq=False)
class DAGNode:
    """One partition of the result: its call, its inputs and outputs, its devices and its size in bytes."""

    submodule_node: Node
    input_nodes: Nodes
    output_nodes: Nodes
    logical_device_ids: list[int]
    size_bytes: int

    def __str__(self) -> str:
        return str(self.submodule_node)


@dataclass(eq=False)
class DAG:
    """The partitions of a result, in the order of their calls."""

    nodes: list[DAGNode] = field(default_factory=list)

    def create_node(
        self, submodule_node: Node, input_nodes: Nodes, output_nodes: Nodes, logical_devices: list[int], size_bytes: int
    ) -> None:
        """Append a partition."""
        self.nodes.append(DAGNode(submodule_node, input_nodes, output_nodes, logical_devices, size_bytes))


class PartitionResult(NamedTuple):
    """The partitions, and the module that has a submodule for each of them."""

    dag: DAG
    module_with_submodules: GraphModule


class Partitioner:
    """Divides one graph module into partitions: call `partition_graph`."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.partitions: list[Partition] = []
        self.node_to_partition: Mapping[Node, int] = {}

    def partition_graph(
        self, fx_module: GraphModule, torch_module: torch.nn.Module, partitioner_config: PartitionerConfig
    ) -> PartitionResult:
        """Divide the module as configured; unless partitions are given, a module that fits on one device isn't divided.

        Args:
            fx_module: the module, whose shapes must have been propagated. Its nodes get ``size_bytes``.
            torch_module: the module that ``fx_module`` was traced from.
            partitioner_config: the devices and the mode.

        Raises:
            RuntimeError: there are no devices, no operations, or not enough memory.
        """
        self.graph_module = fx_module
        self.torch_module = torch_module
        self.devices = partitioner_config.devices
        if not self.devices:
            raise RuntimeError("No devices")
        get_size_of_all_nodes(fx_module)
        if not self._operations():
            raise RuntimeError("The module has no operations to partition")
        self._find_partitions(partitioner_config)
        if partitioner_config.saturate_host:
            self.saturate_host()
        module_with_submodules = self.do_partition()
        return PartitionResult(self.dump_dag(module_with_submodules), module_with_submodules)

    def _operations(self) -> list[Node]:
        return [node for node in self.graph_module.graph.nodes if node.op.startswith("call_")]

    def _find_partitions(self, config: PartitionerConfig) -> None:
        nodes = [node for node in self.graph_module.graph.nodes if node.op != "output"]
        total: int = sum(vars(node)["size_bytes"].total_size for node in nodes)
        largest = max(self.devices, key=lambda device: device.available_mem_bytes)
        rate, latencies = config.transfer_rate_bytes_per_sec, config.node_to_latency_mapping
        if config.mode == PartitionMode.aot_based:
            self.aot_based_partition(config.node_to_partition_mapping, config.partition_to_logical_device_mapping)
        elif total <= largest.available_mem_bytes:
            self.find_single_partition(total, logical_device_id=largest.logical_id)
        elif total > sum(device.available_mem_bytes for device in self.devices):
            raise RuntimeError("Devices do not have enough memory for the module")
        elif config.mode == PartitionMode.sparse_nn:
            if len({device.available_mem_bytes for device in self.devices}) > 1:
                raise RuntimeError("All devices must have the same memory size")
            self.sparse_nn_partition(largest.available_mem_bytes)
        elif config.mode == PartitionMode.cost_aware:
            self.cost_aware_partition(rate, latencies)
        elif config.mode == PartitionMode.kl_based:
            self.kl_based_partition(rate, latencies)
        else:
            self.size_based_partition()

    def create_partition(self) -> Partition:
        """Append an empty partition to ``partitions``, and return it."""
        self.partitions.append(Partition(len(self.partitions)))
        return self.partitions[-1]

    def create_single_node_partition(self, node: Node) -> None:
        """Append a partition of one node."""
        self.create_partition().add_node(node)

    def find_single_partition(self, total_size_of_graph: int, logical_device_id: int = 0) -> None:
        """Put the whole graph in one partition, on the given device."""
        partition = self.create_partition()
        partition.nodes = {node for node in self.graph_module.graph.nodes if node.op != "output"}
        partition.used_mem_bytes = total_size_of_graph
        partition.logical_device_ids = [logical_device_id]
        self.node_to_partition = get_node_to_partition_mapping(self.partitions)

    def aot_based_partition(
        self,
        node_to_partition_mapping: Mapping[Node, int],
        partition_to_logical_device_mapping: Mapping[int, list[int]],
    ) -> None:
        """Make the given partitions, on the given devices."""
        self.node_to_partition = node_to_partition_mapping
        made: dict[int, Partition] = {}
        for node, partition_id in node_to_partition_mapping.items():
            if partition_id not in made:
                made[partition_id] = Partition(partition_id)
                made[partition_id].logical_device_ids = partition_to_logical_device_mapping[partition_id]
                self.partitions.append(made[partition_id])
            made[partition_id].add_node(node)

    # By size.

    def size_based_partition(self) -> None:
        """Fill one device after the other, in graph order; the remaining nodes go to any device with enough memory.

        Raises:
            RuntimeError: a node fits no free device, or the remaining nodes fit no device.
        """
        free = list(self.devices)
        partition = self.create_partition()
        room = 0
        for node in self._operations():
            needed = get_extra_size_of(node, partition.nodes)
            starts = partition.used_mem_bytes == 0
            if len(self.partitions) > len(self.devices) or (
                not starts and room < needed and len(self.partitions) == len(self.devices)
            ):
                self.create_single_node_partition(node)
                continue
            if starts or room < needed:
                device = self._take_device(node, free)
                partition = partition if starts else self.create_partition()
                partition.logical_device_ids.append(device.logical_id)
                needed = get_extra_size_of(node, partition.nodes)
                room = device.available_mem_bytes
            partition.add_node(node)
            room -= needed
        reorganize_partitions(self.partitions)
        self.node_to_partition = get_node_to_partition_mapping(self.partitions)
        if not get_device_to_partitions_mapping(self.partitions, self.devices):
            raise RuntimeError("No valid mapping from partitions to logical devices was found")

    @staticmethod
    def _take_device(node: Node, free: list[Device]) -> Device:
        needed = get_extra_size_of(node, set())
        device = next((device for device in free if device.available_mem_bytes >= needed), None)
        if device is None:
            raise RuntimeError(f"{node} is too large for every device that is still free")
        free.remove(device)
        return device

    def saturate_host(self) -> None:
        """Also assign partitions to idle devices, as long as another whole copy of the model fits."""
        on_device, left, homeless = get_device_partition_stats(self.partitions, self.devices)
        if homeless:
            raise AssertionError(f"{len(homeless)} partition(s) have no device")
        used = [device for device in self.devices if on_device[device]]
        idle = [device for device in self.devices if not on_device[device]]
        while len(idle) >= len(used):
            copies: dict[Device, Device] = {}
            for device in used:
                wanted = device.available_mem_bytes - left[device]
                fitting = [each for each in idle if each not in copies and each.available_mem_bytes >= wanted]
                if not fitting:
                    return
                copies[min(fitting, key=lambda each: each.available_mem_bytes)] = device
            for copy, device in copies.items():
                idle.remove(copy)
                for partition in on_device[device]:
                    partition.logical_device_ids.append(copy.logical_id)

    # With separate embeddings.

    def sparse_nn_partition(self, available_mem_bytes: int) -> None:
        """Put embeddings and other operations in separate partitions, and each embedding partition on its own device.

        Partitions are combined if they fit on a device together. Partitions of other operations are put on every device
        that has an embedding partition.

        Args:
            available_mem_bytes: the memory of each device.

        Raises:
            RuntimeError: a node or the partitions don't fit on the devices.
        """
        groups: dict[bool, list[Partition]] = {True: [], False: []}
        embedding = False
        partition = self.create_partition()
        for node in self._operations():
            if self._is_embedding(node) != embedding:
                if partition.used_mem_bytes:
                    groups[embedding].append(partition)
                    partition = self.create_partition()
                embedding = not embedding
            if get_extra_size_of(node, partition.nodes) + partition.used_mem_bytes > available_mem_bytes:
                groups[embedding].append(partition)
                partition = self.create_partition()
                if get_extra_size_of(node, partition.nodes) > available_mem_bytes:
                    raise RuntimeError(f"{node.target} is too large to fit on a device")
            partition.add_node(node)
        groups[embedding].append(partition)
        set_parents_and_children(self.partitions)
        for group in (groups[False], groups[True]):
            while self._combine_smallest(group, available_mem_bytes):
                pass
        self._place_embeddings(groups[True], groups[False], available_mem_bytes)
        self.node_to_partition = get_node_to_partition_mapping(self.partitions)

    def _is_embedding(self, node: Node) -> bool:
        """Whether the node calls a module that contains, or is contained in, an embedding."""
        if node.op != "call_module":
            return False
        paths = itertools.accumulate(str(node.target).split("."), lambda path, atom: f"{path}.{atom}")
        return any("Embedding" in str(self.graph_module.get_submodule(path)) for path in paths)

    def _combine_smallest(self, group: list[Partition], available_mem_bytes: int) -> bool:
        """Combine the smallest partition with the largest that is at most one level away and fits on a device with it.

        Returns False if there is no such partition.
        """
        get_bfs_level_partition(self.partitions)
        by_size = sorted(group, key=lambda partition: partition.used_mem_bytes)
        for other in reversed(by_size[1:]):
            both = other.nodes | by_size[0].nodes
            if abs(by_size[0].bfs_level - other.bfs_level) <= 1 and (
                sum(get_extra_size_of(node, both) for node in both) <= available_mem_bytes
            ):
                combine_two_partitions(other, by_size[0], self.partitions)
                group.remove(by_size[0])
                group.remove(other)
                group.append(self.partitions[-1])
                return True
        return False

    def _place_embeddings(self, embeddings: list[Partition], others: list[Partition], available_mem_bytes: int) -> None:
        """Put each embedding partition on a separate device, and the other partitions on all of these devices."""
        if len(embeddings) > len(self.devices):
            raise RuntimeError(f"Need {len(embeddings)} devices, but only {len(self.devices)} were provided")
        shared = sum(partition.used_mem_bytes for partition in others)
        for partition, device in zip(embeddings, self.devices, strict=False):
            if shared + partition.used_mem_bytes > available_mem_bytes:
                raise RuntimeError(
                    f"partition {partition} and all partitions without embeddings do not fit on one device"
                )
            partition.logical_device_ids = [device.logical_id]
        occupied = [device.logical_id for device in self.devices[: len(embeddings)]]
        for partition in others:
            partition.logical_device_ids = occupied

    # By cost.

    def cost_aware_partition(
        self, transfer_rate_bytes_per_sec: float, node_to_latency_mapping: Mapping[Node, NodeLatency]
    ) -> None:
        """Start from single nodes, and repeatedly combine the two partitions that make the graph fastest when combined.

        Args:
            transfer_rate_bytes_per_sec: the transfer rate between devices.
            node_to_latency_mapping: the time that each node takes.
        """
        for node in self._operations():
            self.create_single_node_partition(node)
        CostModel(self.devices, transfer_rate_bytes_per_sec, node_to_latency_mapping).combine(self.partitions)
        self.node_to_partition = get_node_to_partition_mapping(self.partitions)

    def kl_based_partition(
        self, transfer_rate_bytes_per_sec: float, node_to_latency_mapping: Mapping[Node, NodeLatency]
    ) -> None:
        """Start from partitions by size, and move or exchange each node if that makes the graph faster.

        Args:
            transfer_rate_bytes_per_sec: the transfer rate between devices.
            node_to_latency_mapping: the time that each node takes.

        Source: after Kernighan and Lin, "An efficient heuristic procedure for partitioning graphs", Bell System
        Technical Journal 49 (1970).
        """
        self.size_based_partition()
        model = CostModel(self.devices, transfer_rate_bytes_per_sec, node_to_latency_mapping)
        model.exchange(self.partitions, self._operations())
        self.node_to_partition = get_node_to_partition_mapping(self.partitions)

    # The result.

    def do_partition(self) -> GraphModule:
        """The module with a submodule for each partition."""
        return split_module(self.graph_module, self.torch_module, lambda node: self.node_to_partition[node])

    def dump_dag(self, module_with_submodules: GraphModule) -> DAG:
        """The partitions of the module that `do_partition` made."""
        dag = DAG()
        for node in module_with_submodules.graph.nodes:
            if node.op != "call_module":
                continue
            outputs = list(node.users) if len(node.users) > 1 else [node]
            partition = self.partitions[int(node.name.rpartition("_")[2])]
            dag.create_node(node, node.all_input_nodes, outputs, partition.logical_device_ids, partition.used_mem_bytes)
        return dag
