"""The files of tests/cases bring the problems that their comments announce, and no others (see its README)."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from fx_lsp.check.check_files import Checked, check
from fx_lsp.rules import rule_for
from fx_lsp.settings.settings import Settings
from tests.rules.message_list import message_list

CASES = Path(__file__).parents[1] / "cases"
FILES = sorted(CASES.glob("*/*.py"))

_ANNOUNCED = re.compile(r"# (error|warning|information|hint)\[([a-z-]+)\]: (.+)")

Problem = tuple[int, str, str, str]
"""The line from 1, the severity, the code, the text."""


@pytest.fixture(scope="module")
def checked() -> Checked:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(CASES)  # so that the rest of the repository is not searched for uses of the cases
        return asyncio.run(check(FILES, Settings(interpreter=(sys.executable,), notices=("all",))))


def announced(file: Path) -> set[Problem]:
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    matches = [(number, match) for number, line in lines if (match := _ANNOUNCED.search(line))]
    return {(_line(number, match), match[1], match[2], match[3]) for number, match in matches}


def _line(number: int, announced: re.Match[str]) -> int:
    """The line that a comment on line ``number`` speaks of: the next one, where it has a line of its own."""
    return number if announced.string[: announced.start()].strip() else number + 1


def reported(file: Path, checked: Checked) -> set[Problem]:
    found: set[Problem] = set()
    lines = checked.documents.lines(str(file))
    assert lines is not None
    for problem in checked.problems:
        place, rule = problem.finding.place, rule_for(problem.finding.failure.kind)
        if place.path == str(file):
            line = lines.position(place.start, "utf-8").line + 1
            severity = "information" if problem.finding.failure.other_side else rule.severity
            found.add((line, severity, rule.code, lines.text[place.start : place.end]))
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_case_reports_the_problems_that_its_comments_announce(file: Path, checked: Checked) -> None:
    assert reported(file, checked) == announced(file)
    assert {code for _, _, code, _ in announced(file)} <= {file.parent.name}


def test_the_list_of_messages_is_up_to_date(checked: Checked) -> None:
    assert (CASES.parents[1] / "docs/messages.md").read_text(encoding="utf-8") == message_list(checked)


def test_every_case_has_a_target(checked: Checked) -> None:
    assert len(checked.traced_targets()) == len(FILES)
