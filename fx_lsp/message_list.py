"""The messages of many files as one list, to be read through: ``python -m fx_lsp.message_list tests/cases PAGE``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path

from fx_lsp.check import Checked, Problem, check
from fx_lsp.config import Settings
from fx_lsp.rules import all_rules, rule_for

_HEAD = """\
# Messages

What is said of each file under `tests/cases`, by rule: the expression and the reason in plain words, then what to do.
"""


def message_list(checked: Checked) -> str:
    """A Markdown page: under each rule's code the messages that it gave, each once, with the file that it is about."""
    sections = (_section(rule.code, checked.problems) for rule in all_rules())
    return "\n".join([_HEAD, *(section for section in sections if section)])


def _section(code: str, problems: Iterable[Problem]) -> str:
    rows: dict[str, str] = {}
    for problem in problems:
        finding = problem.finding
        if rule_for(finding.failure.kind).code == code:
            rows.setdefault(finding.message, Path(finding.place.path).stem)
    if not rows:
        return ""
    return "\n".join([f"## {code}\n", *(f"- {message} *({file})*" for message, file in rows.items()), ""])


async def _write(folder: Path, page: Path) -> None:
    settings = Settings(interpreter=(sys.executable,), notices=("all",))
    checked = await check(sorted(folder.glob("*/*.py")), settings)
    page.write_text(message_list(checked), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1]), Path(sys.argv[2])))
