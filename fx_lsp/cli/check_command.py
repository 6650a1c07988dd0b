"""The command ``fx-lsp check``: parses its arguments, runs the check, and prints the result."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fx_lsp.cli.exit_status import FAILED, INTERRUPTED, of_check
from fx_lsp.cli.output import progress_bar, say, write, write_file
from fx_lsp.errors import CannotCheck

if TYPE_CHECKING:
    from fx_lsp.agent.messages import Capture
    from fx_lsp.check.check_files import Checked, Problem
    from fx_lsp.settings.settings import Settings

# Functions here import what they need when they run, because this module is also loaded when the server starts.

SHOW_FIXES = frozenset({"agent", "full", "json", "jsonl", "sarif"})
"""The formats that show the fixes of a problem."""

PYTHON_SUFFIXES = frozenset({".py", ".pyi", ".pyw", ".ipynb"})
"""A file that is named so should be Python. Any other, e.g. one that ``models/*`` also matches, need not be."""

FORMATS = ("full", "agent", "concise", "json", "jsonl", "github", "gitlab", "sarif", "junit")


def add_arguments(check: argparse.ArgumentParser) -> None:
    """Add the arguments of ``fx-lsp check`` to its parser."""
    check.description = (
        "Traces the models in Python files and notebooks, and shows where tracing fails. The exit status is 0 if no "
        "errors or warnings were found, 1 if some were found (see --fail-on), and 2 if the check could not be "
        "completed."
    )
    check.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a Python file, a notebook, or a folder")
    check.add_argument(
        "--python",
        metavar="PATH",
        help="the Python of your project, with PyTorch installed; default: see fx-lsp which",
    )
    check.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_positive,
        help="time limit for importing a file, and for tracing each of its models; default: 10",
    )
    check.add_argument(
        "--memory-limit",
        metavar="MIB",
        type=_positive,
        help="memory that importing and tracing one file may use; default: 4096",
    )
    _add_many_files(check)
    _add_output(check)
    _add_fixes(check)


def _add_many_files(check: argparse.ArgumentParser) -> None:
    scale = check.add_argument_group("many files")
    scale.add_argument("--jobs", metavar="N", type=_count, help="trace N files at a time; default: the number of CPUs")
    scale.add_argument("--shard", metavar="I/N", help="split the files into N parts and trace only the I-th part")
    scale.add_argument(
        "--changed-since",
        metavar="COMMIT",
        help="trace only files that have changed since COMMIT or are untracked, and files that import any of these",
    )
    scale.add_argument("--cluster", metavar="ADDRESS", help="trace on the workers of the Dask scheduler at ADDRESS")
    scale.add_argument("--no-cache", action="store_true", help="do not use the cached results of earlier runs")


def _add_output(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--capture",
        metavar="NAMES",
        type=_codes,
        default=("fx",),
        help="which captures to check, separated by commas: fx (symbolic tracing), export (torch.export), compile "
        "(torch.compile without graph breaks), or auto: for each class, those that your code uses on it, and fx if it "
        "uses none; default: fx",
    )
    check.add_argument(
        "--fail-on",
        metavar="CAPTURE:SEVERITY",
        type=_codes,
        default=(),
        help="which problems make the exit status 1, separated by commas, e.g. fx:error,export:warning: those of each "
        "capture with at least this severity; problems of other captures then do not; default: warning, for every "
        "capture",
    )
    output = check.add_argument_group("output")
    output.add_argument(
        "--format", choices=FORMATS, help="output format; default: full in a terminal, concise otherwise"
    )
    instead = output.add_mutually_exclusive_group()
    instead.add_argument("--statistics", action="store_true", help="print only the number of problems for each rule")
    instead.add_argument(
        "--summary", action="store_true", help="print only how many models in each folder can be traced"
    )
    instead.add_argument(
        "--costs",
        action="store_true",
        help="print only what each model costs: parameters, floating-point operations, and memory; as a table or, with "
        "--format json, as JSON",
    )
    output.add_argument(
        "--report", metavar="FILE", type=Path, help="also write one line of JSON for each model to FILE"
    )
    output.add_argument("--select", metavar="CODES", type=_codes, default=(), help="show only what these rules report")
    output.add_argument("--ignore", metavar="CODES", type=_codes, default=(), help="hide what these rules report")
    output.add_argument(
        "--notices",
        metavar="CODES",
        type=_codes,
        default=(),
        help="also show these notices, which are off by default (e.g. training-flag,grad-mode); `all` for every notice",
    )
    output.add_argument("--baseline", metavar="FILE", type=Path, help="show only problems that are not listed in FILE")
    output.add_argument("--write-baseline", action="store_true", help="write all problems to the FILE of --baseline")


def _add_fixes(check: argparse.ArgumentParser) -> None:
    fixes = check.add_argument_group("fixes")
    diff_or_fix = fixes.add_mutually_exclusive_group()
    diff_or_fix.add_argument(
        "--diff", action="store_true", help="print the edits that --fix would make instead of the problems"
    )
    diff_or_fix.add_argument(
        "--fix",
        action="store_true",
        help="apply all proven fixes, and show the edited files and the remaining problems",
    )
    fixes.add_argument(
        "--unproven-fixes", action="store_true", help="with --diff or --fix: include fixes that could not be tested"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check the files, print what was found, and return the exit status."""
    import asyncio

    try:
        return _print(asyncio.run(_check(arguments)), arguments)
    except CannotCheck as reason:
        say(str(reason))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


async def _check(arguments: argparse.Namespace) -> Checked:
    from fx_lsp.agent.messages import Capture
    from fx_lsp.check.check_files import Mending, check
    from fx_lsp.settings.settings import AUTO
    from fx_lsp.workspace.disk_cache import Cache, cache_folder
    from fx_lsp.workspace.python_files import FileSelection, Shard

    every: tuple[Capture, ...] = get_args(Capture)
    if unknown := [name for name in arguments.capture if name not in (*every, AUTO)]:
        raise CannotCheck(f"'{unknown[0]}' is not a capture; the captures are {', '.join((*every, AUTO))}.")
    checked = [capture for capture in every if {capture, AUTO}.intersection(arguments.capture)]
    _limits(arguments.fail_on, checked)  # a mistake ends the run before it begins
    if arguments.write_baseline and not arguments.baseline:
        raise CannotCheck("--write-baseline needs --baseline FILE.")
    try:
        shard = Shard.parse(arguments.shard) if arguments.shard else Shard()
    except ValueError:
        raise CannotCheck(f"'{arguments.shard}' is not a valid shard; use I/N, e.g. 2/3.") from None
    mending = Mending(arguments.unproven_fixes, write=arguments.fix) if arguments.fix or arguments.diff else None
    with progress_bar() as show:
        return await check(
            arguments.paths,
            _settings(arguments),
            scope=FileSelection(shard, arguments.changed_since),
            jobs=arguments.jobs or os.cpu_count() or 1,
            cache=None if arguments.no_cache else Cache(cache_folder()),
            cluster=arguments.cluster,
            captures=arguments.capture,
            mending=mending,
            with_fixes=mending is not None or _format(arguments) in SHOW_FIXES,
            with_costs=arguments.costs,
            progress=show,
        )


def _settings(arguments: argparse.Namespace) -> Settings:
    """The settings from the arguments. Raises CannotCheck for an unknown rule or interpreter."""
    from fx_lsp.rules import all_rules
    from fx_lsp.settings.rule_selection import ALL_NOTICES
    from fx_lsp.settings.settings import Settings

    known = {rule.code for rule in all_rules()}
    notices = () if arguments.notices == (ALL_NOTICES,) else arguments.notices
    for code in (*arguments.select, *arguments.ignore, *notices):
        if code not in known:
            raise CannotCheck(f"There is no rule '{code}'; the rules are {', '.join(sorted(known))}.")
    default = Settings()
    return Settings(
        interpreter=(executable(arguments.python),) if arguments.python else (),
        time_limit=arguments.time_limit or default.time_limit,
        memory_limit=int(arguments.memory_limit or default.memory_limit),
        select=arguments.select,
        ignore=arguments.ignore,
        notices=arguments.notices,
    )


def _print(checked: Checked, arguments: argparse.Namespace) -> int:
    """Print which files were fixed and the problems that are not in the baseline, and write the requested files.

    Returns the exit status.
    """
    from fx_lsp.check.shown_places import shown_path
    from fx_lsp.cli import baseline, formats

    for edited in checked.edits if arguments.fix else ():
        say(f"{shown_path(edited)} was edited")
    if arguments.write_baseline:
        baseline.write(arguments.baseline, checked)
    if arguments.baseline:
        checked = dataclasses.replace(checked, problems=baseline.new_problems(arguments.baseline, checked))
    if arguments.report:
        report = formats.render("report", checked)
        write_file(arguments.report, f"{report}\n" if report else "")
    write(formats.render(_format(arguments), checked))
    for path, reason in checked.unread.items():
        say(f"{path} was not traced: {reason}")
    limits = _limits(arguments.fail_on, checked.captures)
    found = any(_counts(problem, limits) for problem in checked.problems) or (arguments.diff and checked.edits)
    return of_check(found=bool(found), unread=any(path.suffix in PYTHON_SUFFIXES for path in checked.unread))


def _limits(fail_on: Sequence[str], captures: Sequence[Capture]) -> dict[str, str]:
    """The lowest severity that counts, by capture. Raises CannotCheck for what is not ``CAPTURE:SEVERITY``."""
    from fx_lsp.settings.rule_selection import SEVERITIES

    if not fail_on:
        return dict.fromkeys(captures, "warning")
    limits: dict[str, str] = {}
    for text in fail_on:
        capture, _, severity = text.partition(":")
        if capture not in captures:
            raise CannotCheck(f"--fail-on {text}: '{capture}' is not checked; --capture names {', '.join(captures)}.")
        if severity not in SEVERITIES:
            raise CannotCheck(f"--fail-on {text}: '{severity}' is not a severity; use {', '.join(SEVERITIES)}.")
        limits[capture] = severity
    return limits


def _counts(problem: Problem, limits: Mapping[str, str]) -> bool:
    """Whether the problem makes the exit status 1."""
    from fx_lsp.settings.rule_selection import SEVERITIES

    limit = limits.get(problem.finding.capture)
    return limit is not None and SEVERITIES.index(problem.finding.severity) <= SEVERITIES.index(limit)


def _format(arguments: argparse.Namespace) -> str:
    """The name of the format to print."""
    for instead in ("diff", "statistics", "summary"):
        if getattr(arguments, instead):
            return instead
    if arguments.costs:
        return "costs_json" if arguments.format in ("json", "jsonl") else "costs"
    return arguments.format or ("full" if sys.stdout.isatty() else "concise")


def executable(python: str) -> str:
    """The absolute path of the interpreter that the user named. Raises CannotCheck if it can't be run."""
    found = shutil.which(python)
    if found is None:
        raise CannotCheck(f"{python} is not an executable program.")
    return str(Path(found).absolute())


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number greater than 0")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number greater than 0")
    return value
