"""Moves this process's memory into huge pages, so that forking it costs less.

A fork copies the table of all pages, and the end of a child goes through its table again. torch and its Python objects
take tens of thousands of pages of 4 KiB. A child that writes to a huge page still copies only 4 KiB of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
from collections.abc import Iterator
from pathlib import Path

HUGE = 2 << 20
"""The size of a huge page, in bytes. Where it is larger, the system refuses the ranges that are too small."""

COLLAPSE = 25
"""``MADV_COLLAPSE`` of <linux/mman.h>, which exists since Linux 6.1; older systems refuse it."""

_PRIVATE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(\[heap\]|\[anon:.*\])?$", re.MULTILINE)
"""A line of ``/proc/self/maps`` about writable memory of this process alone that is neither a file's nor a stack."""


_CHOICE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""Which programs shall get huge pages; the chosen word stands in brackets."""


def use_huge_pages() -> None:
    """Have the system move what this process has in memory into huge pages, if it can; its contents don't change."""
    if sys.platform == "linux" and not _are_unwanted():
        advise = ctypes.CDLL(None).madvise
        with contextlib.suppress(OSError):  # /proc may not be mounted
            for start, length in _whole_huge_pages(Path("/proc/self/maps").read_text()):
                advise(ctypes.c_void_p(start), ctypes.c_size_t(length), COLLAPSE)


def _are_unwanted() -> bool:
    """Whether the computer's owner wants no huge pages, which the advice would not ask about."""
    with contextlib.suppress(OSError):
        return "[never]" in _CHOICE.read_text()
    return False


def _whole_huge_pages(maps: str) -> Iterator[tuple[int, int]]:
    """The start and length of the part of each range that consists of whole huge pages."""
    for found in _PRIVATE.finditer(maps):
        start = -(-int(found[1], 16) // HUGE) * HUGE
        end = int(found[2], 16) // HUGE * HUGE
        if start < end:
            yield start, end - start
