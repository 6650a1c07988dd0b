"""Finds the nodes of a graph that an accelerator can run, and records the decisions about each node.

Source: the interface and results are those of ``torch.fx.passes.splitter_base``.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes.operator_support import OperatorSupportBase
from fxcore.passes.tools_common import CALLABLE_NODE_OPS, NodeList, NodeSet, is_node_output_tensor

TRACKER_DUMP_PATH = "_fx_net_tracker"
NODES_SUFFIX = "_nodes.txt"
ALL_SUFFIX = "_all.txt"

ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE = "FX_NET_ACC_SPLITTER_TRACKER_MODE"
ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH = "FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH"
ENV_FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES = "FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES"

Writer = Callable[[str], object]


class NodeEvent:
    """A decision about the node ``source``; ``dep`` is the other node that caused it, if any."""

    def __init__(self, source: Node, desc: str, dep: Node | None = None) -> None:
        self.source = source
        self.desc = desc
        self.dep = dep

    def to_str(self) -> str:
        """The event in a line: the node, what happened, and the other node or ``#``."""
        return f"{self.source.name}: {self.desc} {self.dep.name if self.dep else '#'}"


class NodeEventTracker:
    """Collects events, and writes them to files at the end.

    Args:
        tracker_mode: 0 writes nothing. 1 writes all events to ``<dump_prefix>_all.txt``. 2 and 3 also write the events
            of some nodes, with the events that led to these, to ``<dump_prefix>_nodes.txt``: 2 selects the nodes
            listed in ``FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES``, a comma-separated environment variable; 3 selects
            all nodes with more than one event.
        dump_prefix: what the paths of the files begin with.
    """

    def __init__(self, tracker_mode: int, dump_prefix: str) -> None:
        self.tracker_mode = tracker_mode
        self.dump_prefix = dump_prefix
        self.events: list[NodeEvent] = []
        self.node_events: dict[str, list[int]] = {}
        self.writer: Writer = print

    @classmethod
    def from_environment(cls) -> "NodeEventTracker":
        """A tracker with the mode and the prefix from the environment variables."""
        mode = os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE, "0")
        return cls(int(mode), os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH, TRACKER_DUMP_PATH))

    def add(self, node: Node, desc: str, dep: Node | None = None) -> None:
        """Record an event of a node."""
        self.node_events.setdefault(node.name, []).append(len(self.events))
        self.events.append(NodeEvent(node, desc, dep))

    def _events_of(self, node_name: str) -> list[NodeEvent]:
        return [self.events[index] for index in self.node_events.get(node_name, [])]

    def print_node(self, node_name: str, recursive: bool = False, tab: str = "", writer: Writer | None = None) -> None:
        """Write a node's events, one per line, each prefixed with ``tab``.

        With ``recursive``, also write those of the nodes that caused them.
        """
        write = writer or self.writer
        for event in self._events_of(node_name):
            write(tab + event.to_str())
            if recursive and event.dep is not None:
                self.print_node(event.dep.name, recursive=True, tab=f"| {tab}", writer=write)

    def to_dict(self) -> dict[str, list[str]]:
        """The events of each node, as lines."""
        return {name: [event.to_str() for event in self._events_of(name)] for name in self.node_events}

    def print_all(self, writer: Writer | None = None) -> None:
        """Write the events of all nodes."""
        write = writer or self.writer
        for name in self.node_events:
            write(f"Node: {name}:")
            self.print_node(name, tab="  ", writer=write)

    def dump(self) -> None:
        """Write the files for the tracker's mode."""
        if self.tracker_mode >= 1:
            self._write_file(ALL_SUFFIX, self.print_all)
        if self.tracker_mode == 2:
            tracked = os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES, "").split(",")
            self._write_file(NODES_SUFFIX, lambda write: self._print_tracked(tracked, write))
        elif self.tracker_mode == 3:
            busy = [name for name, events in self.node_events.items() if len(events) > 1]
            self._write_file(NODES_SUFFIX, lambda write: self._print_tracked(busy, write))

    def _print_tracked(self, names: list[str], write: Writer) -> None:
        for name in names:
            write(f"===== Tracking node {name} =====")
            self.print_node(name, recursive=True, tab="|-", writer=write)
            write(f"===== End of tracking node {name} =====")

    def _write_file(self, suffix: str, report: Callable[[Writer], None]) -> None:
        with Path(self.dump_prefix + suffix).open("w") as file:
            report(lambda line: file.write(f"{line}\n"))


class FxNetAccNodesFinder:
    """Returns, when called, the nodes of ``module`` that may run on the accelerator.

    These are the nodes that ``operator_support`` supports, except those that would have to exchange values other than
    tensors with nodes on the CPU (with ``allow_non_tensor``, these are included too). ``meta["type"]``, which shape
    propagation records, decides which values are tensors. ``tracker`` records the reasons for each node.
    """

    def __init__(self, module: GraphModule, operator_support: OperatorSupportBase, allow_non_tensor: bool) -> None:
        self.module = module
        self.operator_support = operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes: NodeSet = set()
        self.tracker = NodeEventTracker.from_environment()

    def reduce_acc_nodes_non_tensor_input_helper(self, cpu_worklist: Iterable[Node]) -> None:
        """Move the users of CPU nodes off the accelerator, and then the users of those that don't return a tensor."""
        queue = deque(cpu_worklist)
        while queue:
            node = queue.popleft()
            for user in node.users:
                if user not in self.acc_nodes:
                    continue
                self.acc_nodes.remove(user)
                self.tracker.add(user, "acc_del|user_of_new_cpu_node", node)
                if not is_node_output_tensor(user):
                    self.tracker.add(user, "new_cpu_node|non_tensor_output")
                    queue.append(user)

    def reduce_acc_nodes_non_tensor_input(self) -> None:
        """Move nodes off the accelerator if they use a value that isn't a tensor from a node on the CPU."""
        on_cpu: NodeList = []
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS and node not in self.acc_nodes and not is_node_output_tensor(node):
                self.tracker.add(node, "new_cpu_node|callable_non_tensor_input")
                on_cpu.append(node)
        self.reduce_acc_nodes_non_tensor_input_helper(on_cpu)

    def reduce_acc_nodes_non_tensor_output(self) -> None:
        """Repeatedly move nodes whose values aren't tensors, but are used on the CPU, off the accelerator."""
        while leaving := [node for node in self.module.graph.nodes if self._feeds_cpu(node)]:
            self.acc_nodes.difference_update(leaving)
            self.reduce_acc_nodes_non_tensor_input_helper(leaving)

    def _feeds_cpu(self, node: Node) -> bool:
        if node not in self.acc_nodes or is_node_output_tensor(node):
            return False
        user = next((user for user in node.users if user not in self.acc_nodes), None)
        if user is not None:
            self.tracker.add(node, "acc_del|non_tensor_output_with_cpu_user", user)
        return user is not None

    def __call__(self) -> NodeSet:
        """Find and return the nodes."""
        submodules = dict(self.module.named_modules())
        self.acc_nodes = set()
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                self.tracker.add(node, "init_cpu|not_callable")
            elif not self.operator_support.is_node_supported(submodules, node):
                self.tracker.add(node, "init_cpu|operator_support")
            else:
                self.tracker.add(node, "init_acc|callable_and_operator_supported")
                self.acc_nodes.add(node)
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        self.tracker.dump()
        return self.acc_nodes
