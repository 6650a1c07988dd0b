"""Sums up the result of a target in a few words, for its code lens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fx_lsp.agent.messages import Capture, Costs, Failure, Report
from fx_lsp.analysis.costs.cost_texts import counted, flops
from fx_lsp.analysis.results import Traced
from fx_lsp.server.features.capture_verdicts import in_short

NO_CAPTURES: Mapping[Capture, Traced] = MappingProxyType({})

LONGEST = 80
"""How many characters of a reason are shown."""

_ENDINGS = {
    "not-imported": "✗ the file can't be imported",
    "not-built": "✗ it can't be built",
    "timed-out": "✗ it took too long",
    "out-of-memory": "✗ it took too much memory",
    "crashed": "✗ the tracing process died",
}
"""The summaries for outcomes other than success and failure."""

_OF_NO_CAPTURE = frozenset({"not-imported", "not-built", "skipped"})
"""The outcomes that leave nothing to capture."""


def summary(
    traced: Traced,
    captured: Mapping[Capture, Traced] = NO_CAPTURES,
    *,
    tracing: bool,
    held_back: str = "",
    costs: Costs | None = None,
) -> str:
    """The result of a target, on one line without a period; empty if there is nothing to say.

    ``captured``: what is known about other captures. ``tracing``: whether a report is expected. ``held_back``: why
    nothing is traced, if nothing is. ``costs``: what the target costs, if that is known and to be shown.
    """
    report = traced.report
    if report is not None and captured and report.outcome not in _OF_NO_CAPTURE:
        found: dict[Capture, Traced] = {"fx": traced, **captured}
        return " · ".join(
            in_short(capture, item.report, _places_of(item)) for capture, item in found.items() if item.report
        )
    if report is None:
        return f"not traced: {held_back}" if held_back else "tracing…" if tracing else "not traced"
    if report.outcome == "skipped":
        return ""
    if report.outcome == "traced":
        return f"✓ traces{_short(f' {report.reason}') if report.reason else ''} · {_traced(report)}{_operations(costs)}"
    if report.outcome == "failed":
        places = _places_of(traced)
        return "✗ 1 place" if places == 1 else f"✗ {places} places"
    if report.outcome == "unchecked":
        return f"could not be checked: {_short(report.reason.removesuffix('.'))}"
    return _ENDINGS[report.outcome]


def _places_of(traced: Traced) -> int:
    """In how many places a target fails, with those of earlier reports that may still be valid."""
    failures = traced.report.failures if traced.report else ()
    return _places(failures) + _places(finding.failure for finding in traced.kept)


def _places(failures: Iterable[Failure]) -> int:
    """In how many places these failures are; those that only another answer to a condition leads to don't count."""
    met = [failure for failure in failures if not failure.other_side]
    return len({failure.chain[-1].span if failure.chain else None for failure in met})


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _traced(report: Report) -> str:
    nodes = "1 node" if report.nodes == 1 else f"{report.nodes} nodes"
    return f"{nodes} · {counted(report.parameters)} parameters" if report.parameters else nodes


def _operations(costs: Costs | None) -> str:
    """The floating-point operations, and the input that they are for; without its name if there is only one."""
    if costs is None or not costs.modules or not (told := flops(costs, costs.modules[0])):
        return ""
    given = costs.input.partition(": ")[2] if costs.input.count(": ") == 1 else costs.input
    return f" · {told} at {_short(given)}"
