"""What the command line writes, whatever it is written to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator


def write(text: str) -> None:
    """To stdout, whatever characters its encoding knows, and whether or not someone reads to the end."""
    if text:
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(sentence: str) -> None:
    """To stderr."""
    sys.stderr.write(f"fx-lsp: {sentence}\n")


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """``show(done, of, name)``: a bar on stderr where that is a terminal and rich is installed (the extra `terminal`).

    It is gone when the block is left.
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
