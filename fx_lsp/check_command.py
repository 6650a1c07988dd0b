"""The command ``fx-lsp check``: its arguments, and what it does with them."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fx_lsp.exit_status import FAILED, FOUND, INTERRUPTED, CannotCheck
from fx_lsp.output import progress_bar, say, write

if TYPE_CHECKING:
    from fx_lsp.check import Checked
    from fx_lsp.config import Settings
    from fx_lsp.python_files import Scope

# What does the work is imported when it is run: an editor waits for the server to start.

SHOW_FIXES = frozenset({"full", "json", "jsonl", "sarif"})
"""The formats that tell how a problem may be mended."""

FORMATS = ("full", "concise", "json", "jsonl", "github", "gitlab", "sarif", "junit")


def add_arguments(check: argparse.ArgumentParser) -> None:
    """What may follow ``fx-lsp check``."""
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
        help="for the import of a file, and again for each of its models; default: 10",
    )
    check.add_argument(
        "--memory-limit",
        metavar="MIB",
        type=_positive,
        help="that tracing one file may allocate; default: 4096",
    )
    _add_scale(check)
    _add_what_is_told(check)
    _add_mending(check)


def _add_scale(check: argparse.ArgumentParser) -> None:
    scale = check.add_argument_group("many files")
    scale.add_argument("--jobs", metavar="N", type=_count, help="files to trace at a time; default: the processors")
    scale.add_argument("--shard", metavar="I/N", help="only the I-th of N parts, which together are all files")
    scale.add_argument(
        "--changed-since",
        metavar="COMMIT",
        help="only files that git says have changed since, were never committed, or import such a file",
    )
    scale.add_argument("--cluster", metavar="ADDRESS", help="trace on the workers of the Dask scheduler there")
    scale.add_argument("--no-cache", action="store_true", help="trace what an earlier run has traced, too")


def _add_what_is_told(check: argparse.ArgumentParser) -> None:
    told = check.add_argument_group("what is told")
    told.add_argument("--format", choices=FORMATS, help="default: full in a terminal, else concise")
    instead = told.add_mutually_exclusive_group()
    instead.add_argument("--statistics", action="store_true", help="how many problems of each rule, not the problems")
    instead.add_argument(
        "--summary", action="store_true", help="how many models of each folder trace, not the problems"
    )
    told.add_argument(
        "--report", metavar="FILE", type=Path, help="write what became of each model, a JSON object a line"
    )
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

    try:
        checked = asyncio.run(_check(arguments))
        return _tell(checked, arguments)
    except CannotCheck as reason:
        say(str(reason))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


async def _check(arguments: argparse.Namespace) -> Checked:
    from fx_lsp.cache import Cache, cache_folder
    from fx_lsp.check import Mending, check

    if arguments.write_baseline and not arguments.baseline:
        raise CannotCheck("--write-baseline takes --baseline FILE to know where to.")
    mending = Mending(arguments.unproven_fixes, write=arguments.fix) if arguments.fix or arguments.diff else None
    with progress_bar() as show:
        return await check(
            arguments.paths,
            _settings(arguments),
            scope=_scope(arguments),
            jobs=arguments.jobs or os.cpu_count() or 1,
            cache=None if arguments.no_cache else Cache(cache_folder()),
            cluster=arguments.cluster,
            mending=mending,
            with_fixes=_format(arguments) in SHOW_FIXES,
            progress=lambda done, of, file: show(done, of, file.name),
        )


def _scope(arguments: argparse.Namespace) -> Scope:
    """Which of the files to trace. Raises CannotCheck for a shard that there is not."""
    from fx_lsp.python_files import Scope, Shard

    try:
        return Scope(Shard.parse(arguments.shard) if arguments.shard else Shard(), arguments.changed_since)
    except ValueError:
        raise CannotCheck(f"'{arguments.shard}' is no shard: the second of three is 2/3.") from None


def _settings(arguments: argparse.Namespace) -> Settings:
    """What the arguments say. Raises CannotCheck for a code that no rule has."""
    from fx_lsp.config import Settings
    from fx_lsp.rules import all_rules
    from fx_lsp.selection import ALL_NOTICES

    known = {rule.code for rule in all_rules()}
    notices = () if arguments.notices == (ALL_NOTICES,) else arguments.notices
    for code in (*arguments.select, *arguments.ignore, *notices):
        if code not in known:
            raise CannotCheck(f"There is no rule '{code}'; the rules are {', '.join(sorted(known))}.")
    default = Settings()
    return Settings(
        interpreter=(_executable(arguments.python),) if arguments.python else (),
        time_limit=arguments.time_limit or default.time_limit,
        memory_limit=int(arguments.memory_limit or default.memory_limit),
        select=arguments.select,
        ignore=arguments.ignore,
        notices=arguments.notices,
    )


def _tell(checked: Checked, arguments: argparse.Namespace) -> int:
    """Print what was found, as far as the baseline doesn't have it; the exit status."""
    from fx_lsp import baseline, formats

    if arguments.write_baseline:
        baseline.write(arguments.baseline, checked)
    if arguments.baseline:
        checked = dataclasses.replace(checked, problems=baseline.new_problems(arguments.baseline, checked))
    if arguments.report:
        _write_report(arguments.report, formats.render("report", checked))
    write(formats.render(_format(arguments), checked))
    for path, reason in checked.unread.items():
        say(f"{path} was not traced: {reason}")
    found = any(problem.finding.is_serious for problem in checked.problems) or (arguments.diff and checked.edits)
    return FAILED if checked.unread else FOUND if found else 0


def _format(arguments: argparse.Namespace) -> str:
    """The name of what is printed."""
    for instead in ("diff", "statistics", "summary"):
        if getattr(arguments, instead):
            return instead
    return arguments.format or ("full" if sys.stdout.isatty() else "concise")


def _write_report(file: Path, text: str) -> None:
    try:
        file.write_text(f"{text}\n" if text else "", encoding="utf-8")
    except OSError as error:
        raise CannotCheck(f"{file} can't be written: {error}.") from error


def _executable(python: str) -> str:
    """The absolute path of the interpreter that the user named. Raises CannotCheck where there is none."""
    found = shutil.which(python)
    if found is None:
        raise CannotCheck(f"{python} is not a program that can be run.")
    return str(Path(found).absolute())


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value
