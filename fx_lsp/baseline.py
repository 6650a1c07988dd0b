"""A file of the problems that a project has come to live with: only new ones are told."""

from __future__ import annotations

import json
from pathlib import Path

from fx_lsp.check import Checked, Problem
from fx_lsp.exit_status import CannotCheck
from fx_lsp.fingerprints import fingerprints

_VERSION = 1


def write(file: Path, checked: Checked) -> None:
    """Write the problems' fingerprints, and for people their messages. Raises CannotCheck where that fails."""
    marks = fingerprints(checked.problems, checked.documents)
    problems = {mark: problem.finding.line for mark, problem in zip(marks, checked.problems, strict=True)}
    text = json.dumps({"version": _VERSION, "problems": problems}, indent=2, ensure_ascii=False) + "\n"
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotCheck(f"{file} can't be written: {error}.") from error


def new_problems(file: Path, checked: Checked) -> tuple[Problem, ...]:
    """The problems that ``file`` doesn't have. Raises CannotCheck where it is no baseline."""
    known = _read(file)
    marks = fingerprints(checked.problems, checked.documents)
    return tuple(problem for mark, problem in zip(marks, checked.problems, strict=True) if mark not in known)


def _read(file: Path) -> set[str]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["version"] == _VERSION:
            return set(content["problems"])
    except FileNotFoundError:
        raise CannotCheck(f"{file} does not exist; --write-baseline writes it.") from None
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise CannotCheck(f"{file} is not a baseline of this version of fx-lsp; --write-baseline writes it anew.")
