"""How many problems there are for each rule, the most frequent first."""

from __future__ import annotations

from collections import Counter

from fx_lsp.check.check_files import Checked


def render(checked: Checked) -> str:
    """One line for each rule: how many findings it has, its code and its title, in columns."""
    counts = Counter((problem.finding.rule.code, problem.finding.rule.title) for problem in checked.problems)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    number = max((len(str(count)) for _, count in rows), default=0)
    width = max((len(code) for (code, _), _ in rows), default=0)
    return "\n".join(f"{count:>{number}}  {code:<{width}}  {title}" for (code, title), count in rows)
