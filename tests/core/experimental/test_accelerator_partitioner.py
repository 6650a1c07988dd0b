"""accelerator_partitioner and partitioner_utils against torch.fx: the same partitions, devices and costs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.accelerator_partitioner as theirs
import torch.fx.experimental.partitioner_utils as their_utils
from torch.fx.passes.graph_manipulation import get_size_of_all_nodes as their_get_size_of_all_nodes

import fxcore.experimental.accelerator_partitioner as ours
import fxcore.experimental.partitioner_utils as our_utils
from fxcore._symbolic_trace import symbolic_trace
from fxcore.passes.graph_manipulation import get_size_of_all_nodes
from tests.core.code_text import codes_of
from tests.zoo import torchvision

BOTH: list[tuple[Any, Any, Any, Any]] = [
    (symbolic_trace, ours, our_utils, get_size_of_all_nodes),
    (torch.fx.symbolic_trace, theirs, their_utils, their_get_size_of_all_nodes),
]


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.c = torch.nn.Parameter(torch.rand(4))

    def forward(self, a: torch.Tensor) -> Any:
        add_1 = a + self.c
        left = self.linear(add_1)
        middle = torch.relu(left)
        right = add_1 + left
        return middle + torch.sigmoid(right)


class Embeddings(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = torch.nn.ModuleList([torch.nn.EmbeddingBag(200, 3, mode="sum") for _ in range(3)])
        self.top = torch.nn.Linear(4, 4)

    def forward(self, a: torch.Tensor, index: torch.Tensor, offset: torch.Tensor) -> Any:
        x = self.top(a) + 1
        sums = [table(index, offset) for table in self.tables]
        return torch.relu(x), sums[0] + sums[1], sums[2] * 2


BRANCHES = (Branches(), (torch.rand(4, 4),))
EMBEDDINGS = (Embeddings(), (torch.rand(2, 4), torch.tensor([1, 2, 3, 4]), torch.tensor([0, 2])))
RESNET = (torchvision.models.resnet18().eval(), (torch.rand(1, 3, 32, 32),))


def divide(index: int, case: Any, memory: list[int], mode: str, **options: Any) -> Any:
    """The partitioner, its result and the traced module."""
    trace, module, utils, sizes = BOTH[index]
    model, inputs = case
    traced = trace(model)
    sizes(traced, list(inputs))
    nodes = [node for node in traced.graph.nodes if node.op != "output"]
    if mode in ("cost_aware", "kl_based"):
        options["node_to_latency_mapping"] = {
            node: utils.NodeLatency(1e-6 * (1 + place % 3), 1e-6 * len(node.name)) for place, node in enumerate(nodes)
        }
    if "partition_of" in options:
        partition_of: Callable[[int], int] = options.pop("partition_of")
        calls = [node for node in nodes if node.op.startswith("call_")]
        options["node_to_partition_mapping"] = {node: partition_of(place) for place, node in enumerate(calls)}
    devices = [utils.Device(f"dev_{number}", size, number) for number, size in enumerate(memory)]
    partitioner = module.Partitioner()
    config = utils.PartitionerConfig(devices, utils.PartitionMode[mode], **options)
    return partitioner, partitioner.partition_graph(traced, model, config), traced


def described(partitioner: Any, result: Any) -> Any:
    module = result.module_with_submodules
    dag = [
        (str(n), list(map(str, n.input_nodes)), list(map(str, n.output_nodes)), n.logical_device_ids, n.size_bytes)
        for n in result.dag.nodes
    ]
    partitions = [
        (str(p), {n.name for n in p.nodes}, p.logical_device_ids, p.used_mem_bytes) for p in partitioner.partitions
    ]
    return codes_of(module), dag, partitions


CASES: list[tuple[Any, list[int], str, dict[str, Any]]] = [
    (BRANCHES, [10**6], "size_based", {}),
    (BRANCHES, [150, 150, 250], "size_based", {}),
    (BRANCHES, [300, 300, 300], "size_based", {}),
    (BRANCHES, [400, 400, 400], "size_based", {}),
    (BRANCHES, [500, 200], "size_based", {}),
    (BRANCHES, [400, 400, 400, 400, 500], "size_based", {"saturate_host": True}),
    (BRANCHES, [300, 400, 500, 600], "size_based", {"saturate_host": True}),
    (BRANCHES, [10**6, 10**6, 10**6], "size_based", {"saturate_host": True}),
    (BRANCHES, [250, 250, 250], "cost_aware", {"transfer_rate_bytes_per_sec": 2e6}),
    (BRANCHES, [300, 300, 300, 300], "cost_aware", {"transfer_rate_bytes_per_sec": 2e9}),
    (
        BRANCHES,
        [1000, 1000],
        "aot_based",
        {"partition_of": lambda place: place // 2, "partition_to_logical_device_mapping": {0: [0], 1: [1], 2: [0]}},
    ),
    (EMBEDDINGS, [3400, 3400, 3400], "sparse_nn", {}),
    (EMBEDDINGS, [5400, 5400, 5400], "sparse_nn", {}),
    (EMBEDDINGS, [2600, 2600, 2600], "sparse_nn", {}),
    (EMBEDDINGS, [10**6], "sparse_nn", {}),
    (RESNET, [15 * 2**20, 20 * 2**20, 25 * 2**20], "size_based", {}),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_partitions(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    case, memory, mode, options = CASES[number]
    outcomes: list[Any] = []
    for index in range(2):
        try:
            partitioner, result, _ = divide(index, case, memory, mode, **options)
            outcomes.append(described(partitioner, result))
        except RuntimeError as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]
    if outcomes[0] is not RuntimeError:
        model, inputs = case
        mine = divide(0, case, memory, mode, **options)[1]
        torch.testing.assert_close(mine.module_with_submodules(*inputs), model(*inputs))


def test_most_cases_succeed() -> None:
    parts = []
    for case, memory, mode, options in CASES:
        try:
            parts.append(len(divide(0, case, memory, mode, **options)[1].dag.nodes))
        except RuntimeError:
            parts.append(0)
    assert sum(number > 1 for number in parts) >= 9
    assert parts.count(0) == 2


@pytest.mark.parametrize("rate", [1e6, 1e9])
def test_exchanging_nodes_never_costs(rate: float) -> None:
    memory = [400, 400, 400]
    options = {"transfer_rate_bytes_per_sec": rate}
    partitioner, result, traced = divide(0, BRANCHES, memory, "kl_based", **options)
    before, _, _ = divide(0, BRANCHES, memory, "size_based")
    model, inputs = BRANCHES
    torch.testing.assert_close(result.module_with_submodules(*inputs), model(*inputs))

    def cost(partitions: list[our_utils.Partition], nodes: Any) -> float:
        latencies = {
            node: our_utils.NodeLatency(1e-6 * (1 + place % 3), 1e-6 * len(node.name))
            for place, node in enumerate(nodes)
            if node.op != "output"
        }
        times = our_utils.get_partition_to_latency_mapping(partitions, latencies)
        return our_utils.get_latency_of_partitioned_graph(partitions, times, rate)

    names = {node.name: node for node in traced.graph.nodes}
    for partition in before.partitions:
        partition.nodes = {names[node.name] for node in partition.nodes}
    assert cost(partitioner.partitions, traced.graph.nodes) <= cost(before.partitions, traced.graph.nodes)
    for partition in partitioner.partitions:
        assert {partitioner.node_to_partition[n] for n in partition.nodes if n.op.startswith("call_")} == {
            partition.partition_id
        }


def test_costs() -> None:
    """The time of partitions and of the whole, for a division by hand."""
    figures: list[Any] = []
    for index in range(2):
        partitioner, _, traced = divide(
            index,
            BRANCHES,
            [1000, 1000, 1000],
            "aot_based",
            partition_of=lambda place: (0, 0, 1, 1, 2, 2)[place],
            partition_to_logical_device_mapping={0: [0], 1: [1], 2: [1]},
        )
        _, module, utils, _ = BOTH[index]
        module.reorganize_partitions(partitioner.partitions)
        module.get_bfs_level_partition(partitioner.partitions)
        latencies = {
            node: utils.NodeLatency(0.5 * (1 + place % 3), 0.25 * len(node.name))
            for place, node in enumerate(traced.graph.nodes)
        }
        times = utils.get_partition_to_latency_mapping(partitioner.partitions, latencies)
        first, second, third = partitioner.partitions
        figures.append(
            (
                [tuple(times[partition]) for partition in partitioner.partitions],
                [partition.bfs_level for partition in partitioner.partitions],
                utils.get_comm_latency_between(first, second, 10.0),
                utils.get_comm_latency_between(second, third, 10.0),
                utils.get_latency_of_partitioned_graph(partitioner.partitions, times, 10.0),
                [module.check_dependency(partition) for partition in partitioner.partitions],
            )
        )
    assert figures[0] == figures[1]
    assert figures[0][2] > 0
    assert figures[0][3] == 0


def test_circular_partitions() -> None:
    _, _, traced = divide(0, BRANCHES, [10**6], "size_based")
    calls = [node for node in traced.graph.nodes if node.op.startswith("call_")]
    partitions = [our_utils.Partition(0), our_utils.Partition(1)]
    for place, node in enumerate(calls):
        partitions[place % 2].add_node(node)
    ours.set_parents_and_children(partitions)
    assert [ours.check_dependency(partition) for partition in partitions] == [True, True]
    partitions[0].remove_node(calls[0])
    assert calls[0] not in partitions[0].nodes


def test_what_can_not_be_divided() -> None:
    with pytest.raises(RuntimeError, match="No devices"):
        divide(0, BRANCHES, [], "size_based")
    with pytest.raises(RuntimeError, match="enough memory"):
        divide(0, BRANCHES, [10, 10], "size_based")
    with pytest.raises(RuntimeError, match="same memory"):
        divide(0, EMBEDDINGS, [6000, 6100], "sparse_nn")
    with pytest.raises(RuntimeError, match="too large"):
        divide(0, BRANCHES, [100] * 20, "size_based")
    with pytest.raises(RuntimeError, match="no operations"):
        divide(0, (Nothing(), (torch.rand(2),)), [10], "size_based")
    with pytest.raises(RuntimeError, match="size_bytes"):
        our_utils.get_extra_size_of(next(iter(symbolic_trace(Branches()).graph.nodes)), set())


class Nothing(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x
