"""The memory that an attempt touches, so that the next process can have it at hand before its attempt begins.

A forked process shares its parent's memory until it writes to a page, and has no entries yet for the pages of shared
libraries. Each first touch of a page interrupts the process; an attempt makes some two thousand of them, which take as
long as the trace itself. The next attempt at the same target touches nearly the same pages. Touching them ahead changes
nothing that a program could see.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator, Sequence

PagesTouched = tuple[tuple[int, ...], ...]
"""Ranges of pages, each with the number of its first page, how many they are, and whether they were written to."""

MOST_PAGES = 1 << 13
"""How many pages are touched ahead at most; an attempt that touches more makes up for its time otherwise."""

POPULATE_READ, POPULATE_WRITE = 22, 23
"""``MADV_POPULATE_READ`` and ``MADV_POPULATE_WRITE`` of <linux/mman.h>, which exist since Linux 5.14."""

_RANGE = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) r([w-])[x-]p \S+ \S+ (\d+)", re.MULTILINE)
"""A line of ``/proc/self/maps`` about private memory that can be read: where it is, and whether it is writable."""

_WRITTEN = re.compile(rb"[\x81\x83\x85\x87\x89\x8b\x8d\x8f\xa1\xa3]+")
"""Pages that are in memory and belong to this process alone, by the highest bytes of their entries."""

_PRESENT = re.compile(rb"[\x80-\xff]+")
"""Pages that are in memory, likewise."""

_ENTRY = 8
"""How many bytes ``/proc/self/pagemap`` has about a page."""

_open, _pread, _read, _close = os.open, os.pread, os.read, os.close
"""Taken before any of the user's code runs, since that may replace them."""

_usage, _OF_THIS_PROCESS = resource.getrusage, resource.RUSAGE_SELF

_advise = ctypes.CDLL(None).madvise if sys.platform == "linux" else None


def pages_touched() -> PagesTouched:
    """The pages that this process has touched since it was forked; none where the system does not report them."""
    found: list[tuple[int, ...]] = []
    count = 0
    with contextlib.suppress(OSError):
        for touched in _ranges():
            count += touched[1]
            if count > MOST_PAGES:
                break
            found.append(touched)
    return tuple(found)


def count_faults() -> int:
    """How many pages this process has touched for the first time so far."""
    return _usage(_OF_THIS_PROCESS).ru_minflt


def touch(pages: Sequence[tuple[int, ...]]) -> None:
    """Touch pages in this process, which may not have all of them; none if they are too many to be what was touched."""
    if _advise is not None and sum(count for _, count, _ in pages) <= MOST_PAGES:
        for first, count, is_written in pages:
            _touch(_advise, first, count, POPULATE_WRITE if is_written else POPULATE_READ)


def _touch(advise: Callable[..., int], first: int, count: int, how: int) -> None:
    start, length = first * mmap.PAGESIZE, count * mmap.PAGESIZE
    if advise(ctypes.c_void_p(start), ctypes.c_size_t(length), how) != 0 and count > 1:
        half = count // 2  # a page that is missing ends the call
        _touch(advise, first, half, how)
        _touch(advise, first + half, count - half, how)


def _ranges() -> Iterator[tuple[int, int, int]]:
    if _advise is None:
        return
    maps = _contents("/proc/self/maps")
    entries = _open("/proc/self/pagemap", os.O_RDONLY)
    try:
        for line in _RANGE.finditer(maps):
            first, end = int(line[1], 16) // mmap.PAGESIZE, int(line[2], 16) // mmap.PAGESIZE
            is_written = int(line[3] == b"w")
            flags = _pread(entries, (end - first) * _ENTRY, first * _ENTRY)[_ENTRY - 1 :: _ENTRY]
            for run in (_WRITTEN if is_written else _PRESENT).finditer(flags):
                yield first + run.start(), run.end() - run.start(), is_written
    finally:
        _close(entries)


def _contents(path: str) -> bytes:
    fd = _open(path, os.O_RDONLY)
    try:
        parts = [*iter(lambda: _read(fd, 1 << 16), b"")]
    finally:
        _close(fd)
    return b"".join(parts)
