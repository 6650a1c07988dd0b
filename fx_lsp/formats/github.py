"""Workflow commands, which GitHub Actions shows as annotations of a change's lines.

Their form: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os

from fx_lsp.check import Checked, Problem
from fx_lsp.documents import Documents
from fx_lsp.formats.places import ends, shown_path

_COMMANDS = {"error": "error", "warning": "warning", "information": "notice", "hint": "notice"}


def render(checked: Checked) -> str:
    """See the module."""
    return "\n".join(_command(problem, checked.documents) for problem in checked.problems)


def _command(problem: Problem, documents: Documents) -> str:
    place = problem.finding.place
    (line, column), (end_line, end_column) = ends(place, documents)
    properties = {
        "title": f"fx-lsp {problem.finding.rule.code}",
        "file": shown_path(place.path).replace(os.sep, "/"),
        "line": line,
        "col": column,
        "endLine": end_line,
        "endColumn": max(end_column - 1, column) if end_line == line else end_column,
    }
    shown = ",".join(f"{name}={_escaped(str(value), ',:')}" for name, value in properties.items())
    return f"::{_COMMANDS[problem.finding.severity]} {shown}::{_escaped(problem.finding.line)}"


def _escaped(text: str, more: str = "") -> str:
    """``text`` without characters that mean something in a command: those of ``more``, the percent sign, line ends."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
