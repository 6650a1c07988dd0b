"""Writes the output of the command line to stdout, stderr and files."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from fx_lsp.errors import CannotCheck


def write(text: str) -> None:
    """Write ``text`` to stdout. Escape what can't be encoded, and tolerate a reader that closes the pipe early."""
    if text:
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(sentence: str) -> None:
    """Write ``sentence`` to stderr."""
    sys.stderr.write(f"fx-lsp: {sentence}\n")


def write_file(file: Path, text: str) -> None:
    """Write ``text`` to ``file``. Raises CannotCheck if that fails."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotCheck(f"Could not write {file}: {error}.") from error


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Yield ``show(done, of, name)``, which updates a progress bar on stderr until the block ends.

    Nothing is shown if stderr is not a terminal or if rich is not installed (the extra `terminal`).
    """
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield lambda done, of, name: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, of, name: progress.update(task, completed=done, total=of, description=name)
