"""The command ``fx-lsp``: parses its arguments, and starts the server or runs another command."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from fx_lsp import __version__
from fx_lsp.cli import check_command, doctor_command, mcp_command, which_command
from fx_lsp.cli.exit_status import FAILED
from fx_lsp.cli.output import say, write

# Each command imports what it needs when it runs: an editor waits for the server to start.


class _Parser(argparse.ArgumentParser):
    """A parser that reports a wrong argument in one line."""

    def error(self, message: str) -> NoReturn:
        """Print ``message`` and exit with status 2."""
        self.exit(FAILED, f"fx-lsp: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int | None:
    """Run ``fx-lsp`` and return its exit status; None means 0."""
    arguments = _parser().parse_args(argv)
    if arguments.command == "check":
        return check_command.run(arguments)
    if arguments.command == "which":
        return which_command.run(arguments)
    if arguments.command == "doctor":
        return doctor_command.run(arguments)
    if arguments.command == "mcp":
        return mcp_command.run(arguments)
    if arguments.command == "cache":
        return _clear_cache()
    if arguments.command == "rule":
        return _rule(arguments.code, arguments.format)
    _serve(arguments.tcp)
    return None


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fx-lsp",
        description="Shows where and why torch.fx's symbolic tracing fails. Without a command, fx-lsp runs as a "
        "language server that talks to an editor over stdin and stdout.",
    )
    parser.set_defaults(command="serve")
    parser.add_argument("--version", action="version", version=f"fx-lsp {__version__}")
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="talk to an editor over stdin and stdout (the default)")
    transport.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address, help="talk to the first client that connects to this address"
    )
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)
    check = commands.add_parser("check", help="trace the models in files and show where tracing fails")
    check.set_defaults(command="check")
    check_command.add_arguments(check)
    which = commands.add_parser("which", help="show which Python traces a file, and why")
    which.set_defaults(command="which")
    which_command.add_arguments(which)
    doctor = commands.add_parser("doctor", help="find out what is wrong with the set-up")
    doctor.set_defaults(command="doctor")
    doctor_command.add_arguments(doctor)
    mcp = commands.add_parser("mcp", help="serve a coding agent (Model Context Protocol)")
    mcp.set_defaults(command="mcp")
    mcp_command.add_arguments(mcp)
    cache = commands.add_parser("cache", help="delete the cached results of earlier runs")
    cache.set_defaults(command="cache")
    cache.add_argument("action", choices=("clear",))
    rule = commands.add_parser("rule", help="explain a rule")
    rule.set_defaults(command="rule")
    chosen = rule.add_mutually_exclusive_group(required=True)
    chosen.add_argument("code", metavar="CODE", nargs="?", help="the rule's code, e.g. control-flow")
    chosen.add_argument("--all", action="store_true", help="explain every rule")
    rule.add_argument("--format", choices=("markdown", "json"), default="markdown", help="default: %(default)s")
    return parser


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 0xFFFF:
        raise argparse.ArgumentTypeError(f"'{text}' is not a valid address; use HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _serve(tcp: tuple[str, int] | None) -> None:
    # Everything that is loaded here stays. Searching it for garbage would delay the start and some later answers.
    gc.disable()
    from fx_lsp.server.connection import serve

    gc.freeze()
    gc.enable()
    if tcp is None and sys.stdin.isatty():
        say("waiting for an editor on stdin; to trace files in this terminal, run: fx-lsp check PATH")
    serve(tcp)


def _clear_cache() -> int:
    from fx_lsp.workspace.disk_cache import Cache, cache_folder

    folder = cache_folder()
    write(f"Deleted {Cache(folder).clear() / 2**20:.1f} MiB from {folder}")
    return 0


def _rule(code: str | None, format: str) -> int:
    """Print the page of the rule ``code``, or of every rule if ``code`` is None, and return the exit status."""
    from fx_lsp.rules import all_rules
    from fx_lsp.rules.rule_pages import as_json, page

    chosen = [rule for rule in all_rules() if code in (None, rule.code)]
    if not chosen:
        say(f"there is no rule '{code}'; the rules are {', '.join(rule.code for rule in all_rules())}")
        return FAILED
    write(as_json(chosen) if format == "json" else "\n".join(map(page, chosen)))
    return 0
