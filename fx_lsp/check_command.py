"""The command ``fx-lsp check``: its arguments, and what it does with them."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fx_lsp.agent.messages import Limits
from fx_lsp.exit_status import FAILED, FOUND, INTERRUPTED
from fx_lsp.output import Progress, say, write

if TYPE_CHECKING:
    from fx_lsp.check import Checked
    from fx_lsp.selection import Selection

# What does the work is imported when it is run: an editor waits for the server to start.

FORMATS = ("full", "concise", "json", "jsonl", "github", "gitlab", "sarif", "junit")


def add_arguments(check: argparse.ArgumentParser) -> None:
    """What may follow ``fx-lsp check``."""
    limits = Limits()
    check.description = "Traces what the files trace or define, and shows where that fails. Exits with 0 where no "
    check.description += "error or warning was found, 1 where one was, 2 where it could not do its work."
    check.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a Python file, or a folder of them")
    check.add_argument(
        "--python",
        metavar="PATH",
        help="the Python of your project, where its PyTorch is installed; default: $VIRTUAL_ENV, .venv, the PATH",
    )
    check.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_positive,
        default=limits.seconds,
        help="for the import of a file, and again for each of its models; default: %(default)g",
    )
    check.add_argument(
        "--memory-limit",
        metavar="MIB",
        type=_positive,
        default=limits.memory_mb,
        help="that tracing one file may allocate; default: %(default)d",
    )
    _add_what_is_told(check)
    _add_mending(check)


def _add_what_is_told(check: argparse.ArgumentParser) -> None:
    told = check.add_argument_group("what is told")
    told.add_argument("--format", choices=FORMATS, help="default: full in a terminal, else concise")
    told.add_argument("--statistics", action="store_true", help="how many problems of each rule, not the problems")
    told.add_argument("--select", metavar="CODES", type=_codes, default=(), help="only problems of these rules")
    told.add_argument("--ignore", metavar="CODES", type=_codes, default=(), help="no problems of these rules")
    told.add_argument(
        "--notices",
        metavar="CODES",
        type=_codes,
        default=(),
        help="notices to show that are off by default, e.g. training-flag,grad-mode; all for all of them",
    )
    told.add_argument(
        "--baseline", metavar="FILE", type=Path, help="only problems that were not there when FILE was written"
    )
    told.add_argument("--write-baseline", action="store_true", help="write all problems to the --baseline FILE")


def _add_mending(check: argparse.ArgumentParser) -> None:
    fixes = check.add_argument_group("fixes")
    mending = fixes.add_mutually_exclusive_group()
    mending.add_argument("--diff", action="store_true", help="instead of the problems print the edits that --fix makes")
    mending.add_argument("--fix", action="store_true", help="apply the fixes that are proven, and show what is left")
    fixes.add_argument(
        "--unproven-fixes", action="store_true", help="with --diff or --fix: also fixes that could not be tried"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it, and return the exit status."""
    import asyncio

    from fx_lsp.check import CannotCheck

    try:
        checked = asyncio.run(_check(arguments))
        return _tell(checked, arguments)
    except CannotCheck as reason:
        say(str(reason))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


async def _check(arguments: argparse.Namespace) -> Checked:
    from fx_lsp.check import CannotCheck, Mending, check

    if arguments.write_baseline and not arguments.baseline:
        raise CannotCheck("--write-baseline takes --baseline FILE to know where to.")
    progress = Progress()
    try:
        return await check(
            arguments.paths,
            python=_executable(arguments.python) if arguments.python else None,
            limits=Limits(seconds=arguments.time_limit, memory_mb=int(arguments.memory_limit)),
            selection=_selection(arguments),
            mending=Mending(arguments.unproven_fixes, write=arguments.fix) if arguments.fix or arguments.diff else None,
            progress=lambda done, of, file: progress.show(done, of, file.name),
        )
    finally:
        progress.clear()


def _selection(arguments: argparse.Namespace) -> Selection:
    """What the arguments say is to be heard of. Raises CannotCheck for a code that no rule has."""
    from fx_lsp.check import CannotCheck
    from fx_lsp.rules import all_rules
    from fx_lsp.selection import ALL_NOTICES, Selection

    known = {rule.code for rule in all_rules()}
    notices = () if arguments.notices == (ALL_NOTICES,) else arguments.notices
    for code in (*arguments.select, *arguments.ignore, *notices):
        if code not in known:
            raise CannotCheck(f"There is no rule '{code}'; the rules are {', '.join(sorted(known))}.")
    return Selection(arguments.notices, arguments.select, arguments.ignore)


def _tell(checked: Checked, arguments: argparse.Namespace) -> int:
    """Print what was found, as far as the baseline doesn't have it; the exit status."""
    from fx_lsp import baseline, formats

    if arguments.write_baseline:
        baseline.write(arguments.baseline, checked)
    if arguments.baseline:
        checked = dataclasses.replace(checked, problems=baseline.new_problems(arguments.baseline, checked))
    kind = arguments.format or ("full" if sys.stdout.isatty() else "concise")
    write(formats.render("diff" if arguments.diff else "statistics" if arguments.statistics else kind, checked))
    for path in checked.unread:
        say(f"{path} cannot be read as Python, so it was not traced")
    found = any(problem.finding.is_serious for problem in checked.problems) or (arguments.diff and checked.edits)
    return FAILED if checked.unread else FOUND if found else 0


def _executable(python: str) -> str:
    """The absolute path of the interpreter that the user named. Raises CannotCheck where there is none."""
    from fx_lsp.check import CannotCheck

    found = shutil.which(python)
    if found is None:
        raise CannotCheck(f"{python} is not a program that can be run.")
    return str(Path(found).absolute())


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value
