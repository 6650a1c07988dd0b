"""The command ``fx-lsp doctor``: prints what is wrong with the set-up, and what to do."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fx_lsp.cli.exit_status import FAILED, FOUND
from fx_lsp.cli.output import say, write, write_file
from fx_lsp.errors import CannotCheck

# The function imports what it needs when it runs, because this module is also loaded when the server starts.


def add_arguments(doctor: argparse.ArgumentParser) -> None:
    """Add the arguments of ``fx-lsp doctor`` to its parser."""
    doctor.description = (
        "Checks the Python that runs fx-lsp, the Python that traces a file, its torch, the folders, the settings and "
        "the sandbox. It changes nothing. The exit status is 1 if a problem was found."
    )
    doctor.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, default=Path(), help="a file or folder; default: this folder"
    )
    doctor.add_argument(
        "--python", metavar="PATH", help="examine this Python, e.g. the one that your editor shows as selected"
    )
    doctor.add_argument(
        "--bundle", metavar="REPORT", type=Path, help="also write a report for a bug report, without secrets or code"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the results, and return the exit status."""
    from fx_lsp.doctor.bug_report import bug_report, shown
    from fx_lsp.doctor.setup_checks import check_all, set_up

    file = Path(os.path.normpath(arguments.file.absolute()))
    if not file.exists():
        say(f"{arguments.file} does not exist.")
        return FAILED
    setup = set_up(file, (arguments.python,) if arguments.python else ())
    results = list(check_all(setup))
    write("\n".join(map(shown, results)))
    if arguments.bundle:
        try:
            write_file(arguments.bundle, bug_report(setup, results))
        except CannotCheck as reason:
            say(str(reason))
            return FAILED
        write(f"The report is in {arguments.bundle}. Read it before you send it.")
    return FOUND if any(result.verdict == "problem" for result in results) else 0
