"""What came of a target, in a few words: what its lens says."""

from __future__ import annotations

from fx_lsp.agent.messages import Report
from fx_lsp.analysis import Traced

LONGEST = 80
"""Characters of a reason that are shown."""

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

_ENDINGS = {
    "not-imported": "✗ the file can't be imported",
    "not-built": "✗ it can't be built",
    "timed-out": "✗ it took too long",
    "out-of-memory": "✗ it took too much memory",
    "crashed": "✗ the tracing process died",
}
"""What ends a trace before it succeeds or fails."""


def summary(traced: Traced, *, tracing: bool, held_back: str = "") -> str:
    """One line without a full stop; empty where there is nothing to say of it. ``tracing``: a report is to come.

    ``held_back``: why nothing is traced.
    """
    report = traced.report
    if report is None:
        return f"not traced: {held_back}" if held_back else "tracing…" if tracing else "not traced"
    if report.outcome == "skipped":
        return ""
    if report.outcome == "traced":
        return f"✓ traces · {_traced(report)}"
    if report.outcome == "failed":
        places = len({failure.chain[-1].span if failure.chain else None for failure in report.failures})
        return "✗ 1 place" if places == 1 else f"✗ {places} places"
    if report.outcome == "unchecked":
        reason = report.reason.removesuffix(".")
        return f"could not check: {reason if len(reason) <= LONGEST else reason[: LONGEST - 1] + '…'}"
    return _ENDINGS[report.outcome]


def counted(number: int) -> str:
    """A number as people say it: ``25.6 M``."""
    for unit, letter in _UNITS:
        if number >= unit:
            return f"{number / unit:.3g} {letter}"
    return str(number)


def _traced(report: Report) -> str:
    nodes = "1 node" if report.nodes == 1 else f"{report.nodes} nodes"
    return f"{nodes} · {counted(report.parameters)} parameters" if report.parameters else nodes
