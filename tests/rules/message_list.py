"""Writes a list of the messages for many files: ``python -m tests.rules.message_list tests/cases PAGE``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path

from fx_lsp.check.check_files import Checked, Problem, check
from fx_lsp.rules import all_rules, rule_for
from fx_lsp.settings.settings import Settings

_HEAD = """\
# Messages

This page lists, by rule, what fx-lsp reports for the files in `tests/cases`. Each message names the expression, gives
the reason and says what to do. The name of the file follows in italics.
"""


def message_list(checked: Checked) -> str:
    """A Markdown page: under each rule's code its messages, each once, with the name of the file."""
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
