"""What became of every target: one object of JSON a line, in the order of the files and of their text.

All but ``seconds`` is the same in every run over the same files with the same versions of everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from fx_lsp.agent.messages import Outcome
from fx_lsp.analysis import Traced
from fx_lsp.check import Checked
from fx_lsp.documents import Documents
from fx_lsp.findings import Finding
from fx_lsp.formats.places import ends, protocol_location, shown_path

Verdict = Literal["ok", "fails", "unknown", "skipped"]
"""It traces; it does not; that can't be told, and ``reason`` says why; it turned out to be nothing that is traced."""

_VERDICTS: dict[Outcome, Verdict] = {"traced": "ok", "failed": "fails", "skipped": "skipped"}


def render(checked: Checked) -> str:
    """See the module."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows(checked))


def rows(checked: Checked) -> Iterator[dict[str, Any]]:
    """One object for each target."""
    for path, result in checked.results.items():
        for traced in result.traced.values():
            yield _row(path, traced, checked.documents)


def verdict_of(traced: Traced) -> Verdict:
    """What is known of a target."""
    return _VERDICTS.get(traced.report.outcome, "unknown") if traced.report else "unknown"


def _row(path: str, traced: Traced, documents: Documents) -> dict[str, Any]:
    target, report = traced.target, traced.report
    return {
        "path": shown_path(path),
        "qualname": target.symbol or target.title,
        "line": ends(traced.place, documents)[0][0],
        "recipe": report.recipe if report else "",
        "intent": (report and report.intent) or target.intent,
        "verdict": verdict_of(traced),
        "reason": _reason(traced),
        "nodes": report.nodes if report else 0,
        "seconds": round(report.seconds, 3) if report else 0.0,
        "failures": [
            _failure(finding, traced, documents) for finding in traced.findings if _is_failure(finding, traced)
        ],
    }


def _reason(traced: Traced) -> str:
    """Why nothing is known of a target; empty where something is."""
    if verdict_of(traced) != "unknown":
        return ""
    if traced.report is None:
        return "there was no tracing process"
    return traced.report.reason or next((finding.line for finding in traced.findings), traced.report.outcome)


def _is_failure(finding: Finding, traced: Traced) -> bool:
    return traced.report is not None and finding.failure in traced.report.failures


def _failure(finding: Finding, traced: Traced, documents: Documents) -> dict[str, Any]:
    first = traced.report.failures[0] if traced.report else None
    return {
        "code": finding.rule.code,
        **protocol_location(finding.place, documents),
        "message": finding.message,
        "first": finding.failure == first,
    }
