"""The command line: the language server, and the same work in a terminal."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fx_lsp import __version__
from fx_lsp.agent.messages import Limits

if TYPE_CHECKING:
    from fx_lsp.check import Checked

# Each command imports what it needs when it is run: an editor waits for the server to start.

FOUND, FAILED, INTERRUPTED = 1, 2, 130
"""The exit statuses of ``check``: an error or a warning was found, it could not do its work, it was interrupted (which
shells give that status)."""

FORMATS = ("full", "concise", "json")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with an argument in one line."""

    def error(self, message: str) -> NoReturn:
        """Write ``message`` and exit with status 2."""
        self.exit(FAILED, f"fx-lsp: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int | None:
    """Run ``fx-lsp``; the exit status, None for 0."""
    arguments = _parser().parse_args(argv)
    if arguments.command == "check":
        return _check(arguments)
    if arguments.command == "rule":
        return _rule(arguments.code, arguments.format)
    _serve(arguments.tcp)
    return None


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fx-lsp",
        description="Shows where and why torch.fx's symbolic tracing fails. Without a command: the language server, "
        "which talks to an editor over stdin and stdout.",
    )
    parser.set_defaults(command="serve")
    parser.add_argument("--version", action="version", version=f"fx-lsp {__version__}")
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="serve an editor over stdin and stdout (the default)")
    transport.add_argument("--tcp", metavar="HOST:PORT", type=_address, help="serve the first client that connects")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)
    _add_check(commands.add_parser("check", help="trace files and show what is wrong in them"))
    rule = commands.add_parser("rule", help="explain a rule")
    rule.set_defaults(command="rule")
    which = rule.add_mutually_exclusive_group(required=True)
    which.add_argument("code", metavar="CODE", nargs="?", help="the rule's code, e.g. control-flow")
    which.add_argument("--all", action="store_true", help="every rule")
    rule.add_argument("--format", choices=("markdown", "json"), default="markdown", help="default: %(default)s")
    return parser


def _add_check(check: argparse.ArgumentParser) -> None:
    limits = Limits()
    check.set_defaults(command="check")
    check.description = "Traces what the files trace or define, and shows where that fails. Exits with 0 where no "
    check.description += "error or warning was found, 1 where one was, 2 where it could not do its work."
    check.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a Python file, or a folder of them")
    mending = check.add_mutually_exclusive_group()
    mending.add_argument("--diff", action="store_true", help="instead of the problems print the edits that --fix makes")
    mending.add_argument("--fix", action="store_true", help="apply the fixes that are proven, and show what is left")
    check.add_argument(
        "--unproven-fixes", action="store_true", help="with --diff or --fix: also fixes that could not be tried"
    )
    check.add_argument("--format", choices=FORMATS, help="default: full in a terminal, else concise")
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
    check.add_argument(
        "--notices",
        metavar="CODES",
        type=lambda codes: codes.split(","),
        default=[],
        help="notices to show that are off by default, e.g. training-flag,grad-mode; all for all of them",
    )


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 0xFFFF:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value


def _serve(tcp: tuple[str, int] | None) -> None:
    from fx_lsp.server import serve

    if tcp is None and sys.stdin.isatty():
        _say("waiting for an editor on stdin; to trace files in this terminal: fx-lsp check PATH")
    serve(tcp)


def _rule(code: str | None, format: str) -> int:
    """Explain the rule ``code``, or every one."""
    from fx_lsp.rule_pages import as_json, page
    from fx_lsp.rules import all_rules

    chosen = [rule for rule in all_rules() if code in (None, rule.code)]
    if not chosen:
        _say(f"there is no rule '{code}'; the rules are {', '.join(rule.code for rule in all_rules())}")
        return FAILED
    _print(as_json(chosen) if format == "json" else "\n".join(map(page, chosen)))
    return 0


def _check(arguments: argparse.Namespace) -> int:
    import asyncio

    from fx_lsp.check import CannotCheck, Mending, check

    progress = _Progress()
    mending = Mending(arguments.unproven_fixes, write=arguments.fix) if arguments.fix or arguments.diff else None
    try:
        python = _executable(arguments.python) if arguments.python else None
        limits = Limits(seconds=arguments.time_limit, memory_mb=int(arguments.memory_limit))
        run = check(
            arguments.paths,
            python=python,
            limits=limits,
            notices=arguments.notices,
            mending=mending,
            progress=progress.show,
        )
        checked = asyncio.run(run)
    except CannotCheck as reason:
        progress.clear()
        _say(str(reason))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    progress.clear()
    format = arguments.format or ("full" if sys.stdout.isatty() else "concise")
    _print(_rendered(checked, "diff" if arguments.diff else format))
    for path in checked.unread:
        _say(f"{path} cannot be read as Python, so it was not traced")
    found = any(problem.is_serious for problem in checked.problems) or (arguments.diff and checked.edits)
    return FAILED if checked.unread else FOUND if found else 0


def _rendered(checked: Checked, format: str) -> str:
    from fx_lsp.rendering import as_json, concise, diff
    from fx_lsp.terminal import full

    if format == "diff":
        return diff(checked)
    if format == "full":
        return full(checked, colour=_wants_colour())
    return as_json(checked) if format == "json" else concise(checked)


def _wants_colour() -> bool:
    """Whether stdout shows colours and nobody has asked for none (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _executable(python: str) -> str:
    """The absolute path of the interpreter that the user named. Raises CannotCheck where there is none."""
    from fx_lsp.check import CannotCheck

    found = shutil.which(python)
    if found is None:
        raise CannotCheck(f"{python} is not a program that can be run.")
    return str(Path(found).absolute())


class _Progress:
    """One line on stderr that says what is being traced, where stderr is a terminal."""

    def show(self, done: int, of: int, path: Path) -> None:
        """``done`` files of ``of`` are traced, and ``path`` is next."""
        if sys.stderr.isatty():
            self.clear()
            sys.stderr.write(f"[{done + 1}/{of}] {path.name}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def _print(text: str) -> None:
    """Write to stdout, whatever characters its encoding knows, and whether or not someone reads to the end."""
    if text:
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: str) -> None:
    sys.stderr.write(f"fx-lsp: {sentence}\n")
