"""One JSON object per line for each target (a model or function) and capture, ordered by file and place in the file.

Everything except for ``seconds`` is the same in every run over the same files with the same versions of all software.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from fx_lsp.agent.messages import Capture, Outcome
from fx_lsp.analysis.findings import Finding
from fx_lsp.analysis.results import Traced
from fx_lsp.check.check_files import Checked
from fx_lsp.check.shown_places import ends, protocol_location, shown_path
from fx_lsp.documents.documents import Documents

SCHEMA = 1
"""The version of the format of a line. It changes when a field changes its meaning or is dropped."""

Verdict = Literal["ok", "fails", "unknown", "skipped"]
"""``ok``: the target can be traced. ``fails``: it can't be built or traced. ``unknown``: fx-lsp can't tell, and
``reason`` says why. ``skipped``: it is neither a module nor a function."""

_VERDICTS: dict[Outcome, Verdict] = {"traced": "ok", "failed": "fails", "not-built": "fails", "skipped": "skipped"}


def render(checked: Checked) -> str:
    """One line for each target."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows(checked))


def rows(checked: Checked) -> Iterator[dict[str, Any]]:
    """One object for each target and capture."""
    for path, result in checked.results.items():
        for capture, traced in checked.verdicts(result):
            yield _row(path, traced, capture, checked.documents)


def verdict_of(traced: Traced) -> Verdict:
    """The verdict on a target. A target that can't be built fails, unless it needs a file that is not available."""
    report = traced.report
    if report is None or (report.outcome == "not-built" and report.reason):
        return "unknown"
    return _VERDICTS.get(report.outcome, "unknown")


def _row(path: str, traced: Traced, capture: Capture, documents: Documents) -> dict[str, Any]:
    target, report = traced.target, traced.report
    return {
        "schema": SCHEMA,
        "path": shown_path(path),
        "qualname": target.symbol or target.title,
        "line": ends(traced.place, documents)[0][0],
        "capture": capture,
        "dynamic_batch": report.dynamic_batch if report else None,
        "inputs": report.inputs if report else "",
        "recipe": report.recipe if report else "",
        "intent": (report and report.intent) or target.intent,
        "verdict": verdict_of(traced),
        "condition": report.reason if report and report.outcome == "traced" else "",
        "reason": _reason(traced),
        "unfinished": report.unfinished if report else "",
        "nodes": report.nodes if report else 0,
        "seconds": round(report.seconds, 3) if report else 0.0,
        "failures": [
            _failure(finding, traced, documents) for finding in traced.findings if _is_failure(finding, traced)
        ],
    }


def _reason(traced: Traced) -> str:
    """Why the verdict on a target is unknown; empty for any other verdict."""
    if verdict_of(traced) != "unknown":
        return ""
    if traced.report is None:
        return "it was not captured, because it could not be imported or no tracing process was running"
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
        "other_side": bool(finding.failure.other_side),
    }
