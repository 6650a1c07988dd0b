"""SARIF 2.1.0, the static analysis results interchange format of OASIS, which code scanning services read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from fx_lsp import __version__
from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.check.fingerprints import fingerprints
from fx_lsp.check.shown_places import ends, place_of, posix_path
from fx_lsp.documents.documents import Documents, Place
from fx_lsp.fixes import Fix
from fx_lsp.rules import Rule, all_rules

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "information": "note", "hint": "note"}


def render(checked: Checked) -> str:
    """One run; columns count Unicode characters from 1, paths are relative to the working directory."""
    marks = fingerprints(checked.problems, checked.documents)
    run = {
        "tool": {"driver": {"name": "fx-lsp", "version": __version__, "rules": [*map(_rule, all_rules())]}},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(problem, mark, checked.documents) for problem, mark in zip(checked.problems, marks, strict=True)
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "shortDescription": {"text": f"{rule.title}."},
        "help": {"text": rule.why, "markdown": rule.why},
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.default_on},
    }


def _result(problem: Problem, fingerprint: str, documents: Documents) -> dict[str, Any]:
    finding = problem.finding
    related = [
        {"id": number, "message": {"text": link.text}, **_location(link.place, documents)}
        for number, link in enumerate(finding.links)
    ]
    return {
        "ruleId": finding.rule.code,
        "ruleIndex": all_rules().index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.line},
        "locations": [_location(finding.place, documents)],
        "relatedLocations": related,
        "properties": {"capture": finding.capture},
        "partialFingerprints": {"source/v1": fingerprint},
        "fixes": [_fix(fix, documents) for fix in problem.fixes],
    }


def _location(place: Place, documents: Documents) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(place.path), "region": _region(place, documents)}}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(posix_path(path)), "uriBaseId": "%SRCROOT%"}


def _region(place: Place, documents: Documents) -> dict[str, int]:
    (line, column), (end_line, end_column) = ends(place, documents)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _fix(fix: Fix, documents: Documents) -> dict[str, Any]:
    replacements: dict[str, list[dict[str, Any]]] = {}
    for change in fix.changes:
        region = _region(place_of(change.span, documents), documents)
        replacement = {"deletedRegion": region, "insertedContent": {"text": change.text}}
        replacements.setdefault(change.span.file, []).append(replacement)
    changes = [{"artifactLocation": _artifact(path), "replacements": rows} for path, rows in replacements.items()]
    return {"description": {"text": fix.title}, "artifactChanges": changes}
