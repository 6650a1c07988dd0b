"""The command ``fx-lsp mcp``: serves a coding agent."""

from __future__ import annotations

import argparse
from pathlib import Path

from fx_lsp.cli.check_command import executable
from fx_lsp.cli.exit_status import FAILED
from fx_lsp.cli.output import say
from fx_lsp.errors import CannotCheck

# The function imports what it needs when it runs, because this module is also loaded when the server starts.


def add_arguments(mcp: argparse.ArgumentParser) -> None:
    """Add the arguments of ``fx-lsp mcp`` to its parser."""
    mcp.description = (
        "Serves a coding agent over stdin and stdout with the Model Context Protocol: tools that trace the files of a "
        "folder, list problems, try edits and apply proven ones. Needs the extra `mcp`."
    )
    mcp.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=Path, default=Path(), help="the folder to serve; default: this one"
    )
    mcp.add_argument("--python", metavar="PATH", help="the Python of your project; default: see fx-lsp which")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client hangs up, and return the exit status."""
    if not arguments.folder.is_dir():
        say(f"{arguments.folder} is not a folder.")
        return FAILED
    try:
        from fx_lsp.mcp_server.mcp_tools import serve
    except ModuleNotFoundError as error:
        say(f"fx-lsp mcp needs the package {error.name}: install fx-lsp with its extra `mcp`.")
        return FAILED
    try:
        serve(arguments.folder, (executable(arguments.python),) if arguments.python else ())
    except CannotCheck as reason:
        say(str(reason))
        return FAILED
    return 0
