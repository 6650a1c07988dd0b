"""What the command line writes, whatever it is written to."""

from __future__ import annotations

import os
import sys


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


class Progress:
    """One line on stderr that says what is being traced, where stderr is a terminal."""

    def show(self, done: int, of: int, name: str) -> None:
        """``done`` files of ``of`` are traced, and ``name`` is next."""
        if sys.stderr.isatty():
            self.clear()
            sys.stderr.write(f"[{done + 1}/{of}] {name}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
