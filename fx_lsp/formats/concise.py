"""``path:line:column: code message``, one line each, for grep; lines and columns (characters) count from 1.

In a notebook these are those of a cell: ``path:cell 3:line:column``.
"""

from __future__ import annotations

from fx_lsp.check import Checked
from fx_lsp.documents import Documents
from fx_lsp.findings import Finding
from fx_lsp.formats.places import ends, spot


def render(checked: Checked) -> str:
    """See the module."""
    return "\n".join(line_of(problem.finding, checked.documents) for problem in checked.problems)


def line_of(finding: Finding, documents: Documents) -> str:
    """One finding."""
    (line, column), _ = ends(finding.place, documents)
    return f"{spot(finding.place, documents).name}:{line}:{column}: {finding.rule.code} {finding.line}"
