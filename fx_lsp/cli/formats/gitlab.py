"""A Code Quality report, which GitLab shows in merge requests.

Specified at https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json

from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.check.fingerprints import fingerprints
from fx_lsp.check.shown_places import ends, posix_path
from fx_lsp.documents.documents import Documents

_SEVERITIES = {"error": "major", "warning": "minor", "information": "info", "hint": "info"}


def render(checked: Checked) -> str:
    """One issue for each problem."""
    marks = fingerprints(checked.problems, checked.documents)
    issues = [_issue(problem, mark, checked.documents) for problem, mark in zip(checked.problems, marks, strict=True)]
    return json.dumps(issues, indent=2)


def _issue(problem: Problem, fingerprint: str, documents: Documents) -> dict[str, object]:
    place = problem.finding.place
    (line, column), (end_line, end_column) = ends(place, documents)
    positions = {"begin": {"line": line, "column": column}, "end": {"line": end_line, "column": end_column}}
    return {
        "description": problem.finding.line,
        "check_name": problem.finding.rule.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[problem.finding.severity],
        "location": {"path": posix_path(place.path), "positions": positions},
    }
