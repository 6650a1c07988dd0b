"""One line per problem, for grep: ``path:line:column: code message``. Columns are in characters.

Lines and columns count from 1; in a notebook, they count within a cell: ``path:cell 3:line:column``.
"""

from __future__ import annotations

from fx_lsp.analysis.findings import Finding
from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.check.shown_places import ends, spot
from fx_lsp.documents.documents import Documents


def render(checked: Checked) -> str:
    """One line for each problem."""
    return "\n".join(f"{line_of(one.finding, checked.documents)}{_tried(one)}" for one in checked.problems)


def _tried(problem: Problem) -> str:
    """The fixes that were tried, and why none was applied."""
    return "".join(f" [{fix.title}: {proof.in_words}]" for fix, proof in problem.proofs.items())


def line_of(finding: Finding, documents: Documents) -> str:
    """One finding as one line."""
    (line, column), _ = ends(finding.place, documents)
    return f"{spot(finding.place, documents).name}:{line}:{column}: {finding.rule.code} {finding.line}"
