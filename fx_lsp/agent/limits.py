"""The limits of one child: wall clock and memory, and how a breach of each is noticed at the line that did it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

GRACE = 3.0
"""Seconds between the moment a child notices by itself that its time is over and the one when it is killed."""

MIB = 1 << 20


@contextlib.contextmanager
def time_limit(seconds: float, over: Callable[[FrameType | None], None]) -> Iterator[None]:
    """Run the block for at most ``seconds`` of wall clock; then call ``over`` with the frame at work, and exit.

    No exception is raised, since code that loops for ever may well catch it. A block that is stuck outside Python is
    not interrupted; it is for the parent to kill it.
    """

    def expire(signum: int, frame: FrameType | None) -> None:
        lift_memory_limit()
        over(frame)
        os._exit(0)

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def limit_memory(mebibytes: int) -> None:
    """Refuse this process more than ``mebibytes`` MiB on top of what it has now.

    It is private writable memory that counts. Where the system can't tell how much of it there is, or can't limit it,
    there is no limit.
    """
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + mebibytes * MIB, hard))


def lift_memory_limit() -> None:
    """Allow what the system allows: to tell of a breach takes a little memory."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether ``error``, or one that it was raised from, says that memory could not be had."""
    while error is not None:
        # torch's allocator for the CPU has no exception of its own.
        if (
            isinstance(error, MemoryError)
            or type(error).__name__ == "OutOfMemoryError"
            or "DefaultCPUAllocator" in str(error)
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
