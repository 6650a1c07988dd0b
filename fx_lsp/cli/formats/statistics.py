"""How many problems there are for each rule, the most frequent first."""

from __future__ import annotations

from collections import Counter

from fx_lsp.analysis.findings import Finding
from fx_lsp.check.check_files import Checked


def render(checked: Checked) -> str:
    """One line for each rule: how many findings it has, its code and its title, in columns."""
    findings = [problem.finding for problem in checked.problems]
    counts = Counter((_name(finding), finding.rule.title) for finding in findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    number = max((len(str(count)) for _, count in rows), default=0)
    width = max((len(code) for (code, _), _ in rows), default=0)
    return "\n".join(f"{count:>{number}}  {code:<{width}}  {title}" for (code, title), count in rows)


def _name(finding: Finding) -> str:
    """The code of the finding's rule, with the capture if that is not symbolic tracing."""
    code = finding.rule.code
    return code if finding.capture == "fx" else f"{finding.capture}: {code}"
