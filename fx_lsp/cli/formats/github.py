"""Workflow commands, which GitHub Actions shows as annotations on the lines of a change.

Specified at https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.check.shown_places import ends, posix_path
from fx_lsp.documents.documents import Documents

_COMMANDS = {"error": "error", "warning": "warning", "information": "notice", "hint": "notice"}


def render(checked: Checked) -> str:
    """One command for each problem."""
    return "\n".join(_command(problem, checked.documents) for problem in checked.problems)


def _command(problem: Problem, documents: Documents) -> str:
    place = problem.finding.place
    (line, column), (end_line, end_column) = ends(place, documents)
    properties = {
        "title": f"fx-lsp {problem.finding.rule.code}",
        "file": posix_path(place.path),
        "line": line,
        "col": column,
        "endLine": end_line,
        "endColumn": max(end_column - 1, column) if end_line == line else end_column,
    }
    shown = ",".join(f"{name}={_escaped(str(value), ',:')}" for name, value in properties.items())
    return f"::{_COMMANDS[problem.finding.severity]} {shown}::{_escaped(problem.finding.line)}"


def _escaped(text: str, more: str = "") -> str:
    """``text`` with special characters escaped: percent signs, newlines, and those in ``more``."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
