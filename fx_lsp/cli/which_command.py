"""The command ``fx-lsp which``: prints the Python that traces a file, and why."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fx_lsp.cli.exit_status import FAILED
from fx_lsp.cli.output import say, write

# The function imports what it needs when it runs, because this module is also loaded when the server starts.


def add_arguments(which: argparse.ArgumentParser) -> None:
    """Add the arguments of ``fx-lsp which`` to its parser."""
    which.description = (
        "Prints the path of the Python that traces a file, then why this Python is taken and each other that was found "
        "is not. The exit status is 2 if the Python has no torch."
    )
    which.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, default=Path(), help="a file or folder; default: this folder"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the interpreter and the reasons, and return the exit status."""
    from fx_lsp.interpreters.interpreter_choice import choose
    from fx_lsp.settings.pyproject import FILE, project_of

    file = Path(os.path.normpath(arguments.file.absolute()))
    if not file.exists():
        say(f"{arguments.file} does not exist.")
        return FAILED
    inside = file / FILE if file.is_dir() else file
    interpreter = choose(file, Path.cwd(), setting=project_of(str(inside)).settings.interpreter)
    write("\n".join((" ".join(interpreter.command), *interpreter.reasons)))
    return FAILED if interpreter.has_torch is False else 0
