"""Answers requests for views of targets (see ``docs/protocol.md``) from the latest results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lsprotocol import types

from fx_lsp.agent.messages import Capture, Costs, GraphNode, ModuleCall, NodeCosts, Report
from fx_lsp.analysis.capture_graphs import CaptureGraphs
from fx_lsp.analysis.chosen_inputs import ChosenInput, ChosenInputs
from fx_lsp.analysis.costs.cost_counts import CostCounts
from fx_lsp.analysis.costs.cost_texts import is_lower_bound, limits
from fx_lsp.analysis.graph_descriptions import GraphDescription, GraphDescriptions
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import Place
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.outline import Outlines
from fx_lsp.server.features.standalone_module import standalone
from fx_lsp.server.features.target_summary import summary

TARGETS, FORWARD, GRAPH, MODULE = "fx/targets", "fx/forward", "fx/graph", "fx/module"
CHANGED = "fx/changed"
"""The methods of the requests and the notification that fx-lsp adds to LSP."""


class Views:
    """The views for one client."""

    def __init__(
        self,
        scheduler: Scheduler,
        descriptions: GraphDescriptions,
        costs: CostCounts,
        chosen_inputs: ChosenInputs,
        capture_graphs: CaptureGraphs,
        outlines: Outlines,
        places: ClientPlaces,
    ) -> None:
        self._scheduler = scheduler
        self._costs = costs
        self._chosen_inputs = chosen_inputs
        self._descriptions = descriptions
        self._capture_graphs = capture_graphs
        self._outlines = outlines
        self._places = places

    def targets(self, path: str) -> list[dict[str, Any]]:
        """The targets of a file, in the order of its text."""
        return [self._target(path, traced) for traced in self._all(path)]

    def forward(self, uri: str, key: str | None, position: types.Position | None) -> dict[str, Any] | None:
        """The generated ``forward`` of a target, and the places in the source that its lines come from."""
        if (asked := self._asked(uri, key, position)) is None:
            return None
        path, traced = asked
        code, above = _document(traced)
        description = self._current(path, traced)
        nodes = description.details.nodes if description else ()
        lines = [
            {"line": node.line - 1 - above, "node": node.name, "source": self._source(description, node)}
            for node in nodes
            if node.line is not None
        ]
        return {
            "target": self._target(path, traced),
            "text": code,
            "lines": sorted(lines, key=lambda line: line["line"]),
            "stale": self._is_stale(path),
        }

    def exported(self, uri: str, key: str | None, position: types.Position | None) -> dict[str, Any] | None:
        """The exported program of a target as text, in the form of an answer to a request for the ``forward``."""
        if (asked := self._asked(uri, key, position)) is None:
            return None
        path, traced = asked
        known = self._scheduler.results.captured(path, traced.target.key).get("export")
        return {
            "target": self._target(path, traced),
            "text": _document(known)[0] if known else "",
            "lines": [],
            "stale": self._is_stale(path),
        }

    def module(self, uri: str, key: str | None, position: types.Position | None) -> dict[str, Any] | None:
        """A target's generated ``forward`` as a standalone Python module."""
        if (asked := self._asked(uri, key, position)) is None:
            return None
        path, traced = asked
        code, _ = _document(traced)
        description = self._current(path, traced)
        title, symbol = traced.target.title, traced.target.symbol
        text = standalone(title, symbol, code, description.details.imports) if code and description else None
        return {"target": self._target(path, traced), "text": text, "stale": self._is_stale(path)}

    def graph(
        self, uri: str, key: str | None, position: types.Position | None, *, inputs: str = ""
    ) -> dict[str, Any] | None:
        """The graph of a target, and its failures. If the target fails, this also requests its graph from the agent.

        If there are ``inputs`` (the arguments of a call), they are requested too, and shapes and costs are for them as
        soon as these are known. Until the agent has sent the graph of the latest version, this is the one before.
        """
        if (asked := self._asked(uri, key, position)) is None:
            return None
        path, traced = asked
        if traced.report and traced.report.outcome == "failed":
            self._descriptions.want(path, traced.target.key)
        chosen = self._chosen_inputs.choose(path, traced.target.key, inputs)
        _, above = _document(traced)
        description = self._descriptions.of(path, traced.target.key)
        count = self._costs.latest(path, traced.target.key)
        if chosen and chosen.result and _is_current(chosen.result.description, traced.report):
            description, count = chosen.result.description, chosen.result.count
        is_older = description is not None and not _is_current(description, traced.report)
        details = description.details if description else None
        by_node = count.by_node(traced.report) if count and traced.report else {}
        return {
            **self._graph(path, traced, traced, "fx"),
            "stale": self._is_stale(path) or is_older,
            "input": details.input or None if details else None,
            "symbols": details.symbols if details else {},
            "nodes": [self._node(description, node, above, by_node) for node in details.nodes] if details else [],
            "order": list(map(_call, details.order)) if details else [],
            "costs": _costs(count.costs) if count else None,
            "chosen": self._choice(chosen, traced) if chosen else None,
            "failures": list(self._failures(traced, details.nodes if details else ())),
        }

    def captured_graph(
        self, uri: str, key: str | None, position: types.Position | None, capture: Capture
    ) -> dict[str, Any] | None:
        """The graph that another ``capture`` of a target yields, or why it yields none, in the form of `graph`.

        This also requests the graph from the agent. If the capture was not made, the graph is empty.
        """
        if (asked := self._asked(uri, key, position)) is None:
            return None
        path, traced = asked
        captured = self._scheduler.results.captured(path, traced.target.key).get(capture)
        description = self._capture_graphs.of(path, traced.target.key, capture)
        if captured is None or description is None or not _is_current(description, captured.report):
            description = None
        details = description.details if description else None
        return {
            **self._graph(path, traced, captured, capture),
            "input": details.input or None if details else None,
            "symbols": {},
            "nodes": [self._node(description, node, 0, {}) for node in details.nodes] if details else [],
            "order": list(map(_call, details.order)) if details else [],
            "costs": None,
            "chosen": None,
            "failures": list(self._failures(captured, ())) if captured else [],
        }

    def _graph(self, path: str, traced: Traced, captured: Traced | None, capture: Capture) -> dict[str, Any]:
        """What a view shows of a graph even if its nodes are not known; ``captured`` has the report of ``capture``."""
        report = captured.report if captured else None
        return {
            "target": self._target(path, traced),
            "capture": capture,
            "captures": ["fx", *self._scheduler.results.captured(path, traced.target.key)],
            "outcome": report.outcome if report else None,
            "stale": self._is_stale(path),
            "parameters": report.parameters if report else 0,
        }

    def _is_stale(self, path: str) -> bool:
        """Whether there is newer text than was traced, even if no trace of it is to be expected."""
        return self._scheduler.is_tracing(path) or not self._scheduler.results.is_traced(path)

    def _asked(self, uri: str, key: str | None, position: types.Position | None) -> tuple[str, Traced] | None:
        """The file and the target that a request is about; None if there is no such target."""
        path = self._places.path(uri)
        traced = self._chosen(path, key, self._places.offset(uri, position) if position else None) if path else None
        return (path, traced) if path and traced else None

    def _all(self, path: str) -> list[Traced]:
        result = self._scheduler.results.get(path)
        return list(result.traced.values()) if result else []

    def _chosen(self, path: str, key: str | None, offset: int | None) -> Traced | None:
        """The target with the given key, or the one at the given offset; without either, the first one."""
        everything = self._all(path)
        if key is not None:
            return next((traced for traced in everything if traced.target.key == key), None)
        if offset is None:
            return next(iter(everything), None)
        around = self._outlines.around(path, offset)
        return self._at(path, offset, around) or (None if around else next(iter(everything), None))

    def _at(self, path: str, offset: int, around: list[str]) -> Traced | None:
        """The target at an offset; otherwise, in this order, the target whose class or function contains the offset, in
        whose graph the code there was recorded, or that is on the same line."""
        places = [(traced, now) for traced in self._all(path) if (now := self._scheduler.documents.now(traced.place))]
        for traced, place in places:
            if place.start <= offset <= place.end:
                return traced
        for name in around:
            for traced in self._all(path):
                if traced.target.symbol == name:
                    return traced
        return self._recorded_at(path, offset) or next(
            (traced for traced, place in places if self._is_on_line(place, offset)), None
        )

    def _recorded_at(self, path: str, offset: int) -> Traced | None:
        """A target in whose graph the code at an offset was recorded as a node."""
        for traced in self._all(path):
            description = self._descriptions.of(path, traced.target.key)
            for place in description.recorded.get(path, {}) if description else ():
                moved = self._scheduler.documents.now(place)
                if moved and moved.start <= offset <= moved.end:
                    return traced
        return None

    def _is_on_line(self, place: Place, offset: int) -> bool:
        lines = self._scheduler.documents.lines(place.path)
        if lines is None:
            return False
        first, last, line = (lines.position(end, "utf-8").line for end in (place.start, place.end, offset))
        return first <= line <= last

    def _current(self, path: str, traced: Traced) -> GraphDescription | None:
        """A target's description, if it matches the latest report, i.e. has the same code and the same failures."""
        found = self._descriptions.of(path, traced.target.key)
        return found if found and _is_current(found, traced.report) else None

    def _choice(self, chosen: ChosenInput, traced: Traced) -> dict[str, Any]:
        """Whether the inputs that were chosen for a target are still to be counted for, and why they can't be used."""
        is_pending = chosen.report is not traced.report
        problem = "tracing is paused" if is_pending and self._scheduler.paused else chosen.problem
        return {"pending": is_pending and not problem, "problem": problem or None}

    def _target(self, path: str, traced: Traced) -> dict[str, Any]:
        location = self._places.location(traced.place)
        tracing, held_back = self._scheduler.is_tracing(path), self._scheduler.held_back
        captured = self._scheduler.results.captured(path, traced.target.key)
        return {
            "key": traced.target.key,
            "title": traced.target.title,
            "uri": location.uri if location else None,
            "range": location.range if location else None,
            "outcome": traced.report.outcome if traced.report else None,
            "summary": summary(traced, captured, tracing=tracing, held_back=held_back),
        }

    def _node(
        self, description: GraphDescription | None, node: GraphNode, above: int, costs: Mapping[str, NodeCosts]
    ) -> dict[str, Any]:
        own = {name: value for name, value in vars(node).items() if name not in ("span", "fails")}
        line = None if node.line is None else node.line - 1 - above
        cost = costs.get(node.name)
        counted = {"flops": cost.flops if cost else None, "bytes": cost.bytes if cost else None}
        return {**own, "line": line, "source": self._source(description, node), **counted}

    def _source(self, description: GraphDescription | None, node: GraphNode) -> types.Location | None:
        """The current location of a node's expression."""
        place = description.snapshot.place(node.span) if description and node.span else None
        return self._places.location(place) if place else None

    def _failures(self, traced: Traced, nodes: Iterable[GraphNode]) -> Iterator[dict[str, Any]]:
        """The failures of a target, each with the names of the ``nodes`` that represent it."""
        for finding in traced.findings:
            if finding.failure in (traced.report.failures if traced.report else ()):
                span = finding.failure.chain[-1].span if finding.failure.chain else None
                yield {
                    "message": finding.message,
                    "code": finding.rule.code,
                    "location": self._places.location(finding.place),
                    "nodes": [node.name for node in nodes if span in node.fails],
                }


def _is_current(description: GraphDescription, report: Report | None) -> bool:
    """Whether a description matches the latest ``report``, i.e. has the same code and the same failures."""
    known = description.report
    return report is not None and (known.code, known.failures) == (report.code, report.failures)


def _document(traced: Traced) -> tuple[str, int]:
    """The generated ``forward`` without the empty lines above it, and how many empty lines there were."""
    code = traced.report.code if traced.report else ""
    text = code.lstrip("\n")
    return f"{text.rstrip()}\n" if text else "", len(code) - len(text)


def _costs(costs: Costs) -> dict[str, Any]:
    modules = [
        {
            "path": module.path,
            "parameters": module.parameters.count,
            "flops": module.flops,
            "activations": module.activations,
            "peak": module.peak,
        }
        for module in costs.modules
    ]
    return {"input": costs.input, "atLeast": is_lower_bound(costs), "limits": limits(costs), "modules": modules}


def _call(call: ModuleCall) -> dict[str, Any]:
    uses = [{"name": use.name, "count": use.count} for use in call.parameters]
    return {"path": call.path, "type": call.type, "depth": call.depth, "parameters": uses}
