"""For coding agents: one compact text for each problem, with the smallest edit that may fix it."""

from __future__ import annotations

from fx_lsp.check.check_files import Checked
from fx_lsp.check.compact_problem import compact


def render(checked: Checked) -> str:
    """Every problem, with an empty line between two."""
    return "\n\n".join(compact(problem, checked.documents) for problem in checked.problems)
