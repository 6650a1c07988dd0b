"""What happened to each node while a graph was being split, and why.

Source: the interface is that of ``torch.fx.passes.splitter_base``.
"""

import os
from collections.abc import Callable
from pathlib import Path

from fxcore.node import Node

__all__ = ["NodeEvent", "NodeEventTracker"]

TRACKER_DUMP_PATH = "_fx_net_tracker"
NODES_SUFFIX = "_nodes.txt"
ALL_SUFFIX = "_all.txt"

ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE = "FX_NET_ACC_SPLITTER_TRACKER_MODE"
ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH = "FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH"
ENV_FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES = "FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES"

Writer = Callable[[str], object]


class NodeEvent:
    """Something that happened to node ``source``; ``dep`` is the other node that it happened because of, if any."""

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
        tracker_mode: 0 writes nothing. 1 writes all events to ``<dump_prefix>_all.txt``. 2 and 3 also write, to
            ``<dump_prefix>_nodes.txt``, events with those that led to them: 2 of the nodes that the environment
            variable ``FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES`` names, with commas between; 3 of all nodes with more
            than one event.
        dump_prefix: where the files begin.
    """

    def __init__(self, tracker_mode: int, dump_prefix: str) -> None:
        self.tracker_mode = tracker_mode
        self.dump_prefix = dump_prefix
        self.events: list[NodeEvent] = []
        self.node_events: dict[str, list[int]] = {}
        self.writer: Writer = print

    @classmethod
    def from_environment(cls) -> "NodeEventTracker":
        """A tracker with the mode and the prefix that the environment names."""
        mode = os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE, "0")
        return cls(int(mode), os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH, TRACKER_DUMP_PATH))

    def add(self, node: Node, desc: str, dep: Node | None = None) -> None:
        """Note an event."""
        self.node_events.setdefault(node.name, []).append(len(self.events))
        self.events.append(NodeEvent(node, desc, dep))

    def _events_of(self, node_name: str) -> list[NodeEvent]:
        return [self.events[index] for index in self.node_events.get(node_name, [])]

    def print_node(self, node_name: str, recursive: bool = False, tab: str = "", writer: Writer | None = None) -> None:
        """Write a node's events, each a line after ``tab``; with ``recursive`` also those of the nodes behind them."""
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
        """Write the files that the mode asks for."""
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
