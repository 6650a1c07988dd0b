"""The baseline: a file that lists a project's known problems, so that only new ones are reported."""

from __future__ import annotations

import json
from pathlib import Path

from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.check.fingerprints import fingerprints
from fx_lsp.cli.output import write_file
from fx_lsp.errors import CannotCheck

_VERSION = 1


def write(file: Path, checked: Checked) -> None:
    """Write the problems' fingerprints and, for people, their messages. Raises CannotCheck if that fails."""
    marks = fingerprints(checked.problems, checked.documents)
    problems = {mark: problem.finding.line for mark, problem in zip(marks, checked.problems, strict=True)}
    write_file(file, json.dumps({"version": _VERSION, "problems": problems}, indent=2, ensure_ascii=False) + "\n")


def new_problems(file: Path, checked: Checked) -> tuple[Problem, ...]:
    """The problems that ``file`` does not list. Raises CannotCheck if ``file`` can't be read as a baseline."""
    known = _read(file)
    marks = fingerprints(checked.problems, checked.documents)
    return tuple(problem for mark, problem in zip(marks, checked.problems, strict=True) if mark not in known)


def _read(file: Path) -> set[str]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["version"] == _VERSION:
            return set(content["problems"])
    except FileNotFoundError:
        raise CannotCheck(f"{file} does not exist; create it with --write-baseline.") from None
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise CannotCheck(
        f"{file} is not a baseline that this version of fx-lsp can read; write it again with --write-baseline."
    )
