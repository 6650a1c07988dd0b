"""Code lenses: above each target its result, and commands that show more if the client implements them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from lsprotocol import types

from fx_lsp.analysis.costs.cost_counts import CostCounts
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.outline import Outlines
from fx_lsp.server.features.target_summary import summary

OPEN_FORWARD, SHOW_GRAPH, SHOW_FAILURES = "fxLsp.openForward", "fxLsp.showGraph", "fxLsp.showFailures"
COPY_MODULE, TRY_CAPTURES = "fxLsp.copyModule", "fxLsp.tryCaptures"
"""Commands that a client may implement, and one of the server; see ``docs/protocol.md``."""

EXPORTED = "exported program"
"""The title of the lens that opens it."""


def code_lenses(
    scheduler: Scheduler,
    outlines: Outlines,
    places: ClientPlaces,
    uri: str,
    commands: Collection[str],
    costs: CostCounts | None = None,
) -> list[types.CodeLens]:
    """The lenses of a document, from the latest reports.

    ``commands`` are those that the client implements. ``costs``: what models cost, if that is to be shown.
    """
    path = places.path(uri)
    result = scheduler.results.get(path) if path else None
    if path is None or result is None:
        return []
    outline = outlines.of(path)
    lenses: list[types.CodeLens] = []
    by_symbol = Counter(traced.target.symbol for traced in result.traced.values())
    for traced in result.traced.values():
        symbol = traced.target.symbol
        place = outline.get(symbol or "") or scheduler.documents.around(traced.place)
        found = places.location(place) if place else None
        captured = scheduler.results.captured(path, traced.target.key)
        may_try = not captured and scheduler.results.captures_of(traced.target) == ("fx",)
        cost = costs.of(path, traced.target.key) if costs else None
        text = summary(traced, captured, tracing=scheduler.is_tracing(path), held_back=scheduler.held_back, costs=cost)
        if found is None or found.uri != uri or not text:
            continue
        title = f"{traced.target.title}: {text}" if symbol and by_symbol[symbol] > 1 else text
        for name, command in _commands(traced, title, captured.get("export"), may_try=may_try):
            if name == title or command in commands:
                lenses.append(_lens(places, found, traced, name, command if command in commands else ""))
    return lenses


def _commands(traced: Traced, title: str, exported: Traced | None, *, may_try: bool) -> Iterator[tuple[str, str]]:
    """The titles and commands of a target's lenses, the summary first. ``may_try``: no other capture is made anyway."""
    outcome = traced.report.outcome if traced.report is not None else None
    yield title, OPEN_FORWARD if outcome == "traced" else SHOW_FAILURES if traced.findings else ""
    if outcome in ("traced", "failed"):
        yield "graph", SHOW_GRAPH
    if outcome == "traced":
        yield "copy", COPY_MODULE
    if exported and exported.report and exported.report.code:
        yield EXPORTED, OPEN_FORWARD
    if outcome in ("failed", "unchecked") and may_try:
        yield "try export and compile", TRY_CAPTURES


def _lens(places: ClientPlaces, found: types.Location, traced: Traced, title: str, command: str) -> types.CodeLens:
    failing = dict.fromkeys(finding.place for finding in traced.findings)
    argument = {
        **({"capture": "export"} if title == EXPORTED else {}),
        "uri": found.uri,
        "target": traced.target.key,
        "position": found.range.start,
        "locations": [location for place in failing if (location := places.location(place))],
    }
    return types.CodeLens(found.range, types.Command(title, command, arguments=[argument] if command else None))
