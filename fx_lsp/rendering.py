"""What ``fx-lsp check`` prints for other programs and for grep; what it prints for people is in ``terminal.py``."""

from __future__ import annotations

import difflib
import io
import json
import os
from typing import Any

from fx_lsp.agent.messages import Proof, Span
from fx_lsp.check import Checked, Problem
from fx_lsp.documents import Documents, Place, on_disk
from fx_lsp.fixes import Fix
from fx_lsp.positions import LineIndex
from fx_lsp.rules import rule_for


def concise(checked: Checked) -> str:
    """``path:line:column: code message``, one line each; lines and columns (characters) count from 1."""
    return "\n".join(_line(problem, checked.documents) for problem in checked.problems)


def as_json(checked: Checked) -> str:
    """One array of problems; lines and UTF-16 characters count from 0, as in the Language Server Protocol."""
    return json.dumps([_object(problem, checked.documents) for problem in checked.problems], indent=2)


def diff(checked: Checked) -> str:
    """All edits as one unified diff, which ``patch -p1`` and ``git apply`` take in the working directory."""
    return "".join(_file_diff(path, text) for path, text in sorted(checked.edits.items())).rstrip("\n")


def shown_path(path: str) -> str:
    """``path`` (absolute) as seen from the working directory."""
    try:
        return os.path.relpath(path)
    except ValueError:  # on another drive
        return path


def line_and_column(lines: LineIndex, offset: int) -> tuple[int, int]:
    """Where ``offset`` is for a person: both from 1, columns in characters."""
    line, character = lines.position(offset, "utf-32")
    return line + 1, character + 1


def _file_diff(path: str, text: str) -> str:
    lines = on_disk(path)
    before = _whole_lines(lines.text if lines else "")
    name = shown_path(path).replace(os.sep, "/")
    rows = difflib.unified_diff(before, _whole_lines(text), f"a/{name}", f"b/{name}")
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _whole_lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()


def _line(problem: Problem, documents: Documents) -> str:
    finding = problem.finding
    lines = documents.lines(finding.place.path) or LineIndex("")
    line, column = line_and_column(lines, finding.place.start)
    message = " ".join(finding.message.split())
    return f"{shown_path(finding.place.path)}:{line}:{column}: {rule_for(finding.failure.kind).code} {message}"


def _object(problem: Problem, documents: Documents) -> dict[str, Any]:
    finding = problem.finding
    rule = rule_for(finding.failure.kind)
    return {
        **_location(finding.place, documents),
        "severity": rule.severity,
        "code": rule.code,
        "message": finding.message,
        "target": ", ".join(finding.targets),
        "related": [{**_location(link.place, documents), "message": link.text} for link in finding.links],
        "fixes": [_fix(fix, problem.proofs.get(fix), documents) for fix in problem.fixes],
    }


def _fix(fix: Fix, proof: Proof | None, documents: Documents) -> dict[str, Any]:
    edits = [{**_location(_place(change.span, documents), documents), "text": change.text} for change in fix.changes]
    tried = {"verdict": proof.verdict, "reason": proof.reason} if proof else None
    return {"title": fix.title, "edits": edits, "proof": tried}


def _place(span: Span, documents: Documents) -> Place:
    place = documents.snapshot().place(span)
    assert place is not None, "a fix is for a file that was read"
    return place


def _location(place: Place, documents: Documents) -> dict[str, Any]:
    lines = documents.lines(place.path) or LineIndex("")
    ends = {"start": lines.position(place.start, "utf-16"), "end": lines.position(place.end, "utf-16")}
    return {"path": shown_path(place.path), "range": {end: position._asdict() for end, position in ends.items()}}
