"""Reads the files that say where Pythons are. They may be anything: a workspace is searched before it is trusted."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

log = logging.getLogger(__name__)

LARGEST = 1 << 20
"""The size in bytes above which a file is not read."""

T = TypeVar("T")


def small_text(file: Path) -> str:
    """The text of a file; empty if it can't be read, is not a regular file, or is too large."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # reading from a pipe would wait for a writer
            return ""
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except (OSError, ValueError):
        return ""
    return content.decode("utf-8", "replace") if len(content) <= LARGEST else ""


def sensible(found: Iterable[T], where: str) -> Iterator[T]:
    """What is ``found`` before an error, if there is one: e.g. a name is too long, or a folder can't be read."""
    try:
        yield from found
    except (OSError, ValueError, RuntimeError) as error:
        log.info("%s is ignored: %s", where, error)
