"""The limits of one child. A child that exceeds its time or memory notices this itself, at the line to blame."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from os import _exit
from pathlib import Path
from types import FrameType
from typing import TypeVar

from fx_lsp.agent.processes.patience import Patience
from fx_lsp.agent.traceback_steps import causes, describe

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

T = TypeVar("T")

CAN_LIMIT = resource is not None

LEAST_GRACE, MOST_GRACE = 1.0, 3.0
"""Bounds of what `grace` returns, in seconds."""

MIB = 1 << 20

OPEN_FILES = 1024
"""How many files a trace may have open. A program can raise this to its user's limit, which harms nobody else."""

FILE_MB = 256
"""The maximum size of one file, in MiB."""

SPARE_PROCESSES = 256
"""How many processes and threads the user may have in addition to all that the system has when a trace begins."""


def grace(seconds: float) -> float:
    """How long after its limit of ``seconds``, which it should notice itself, a child is killed.

    A process that waits for such a child is given as long once more: a loop outside Python ends within three times the
    limit, unless that is very short.
    """
    return min(max(seconds, LEAST_GRACE), MOST_GRACE)


def seconds_in_words(seconds: float) -> str:
    """A number of seconds as messages give it, e.g. "1 second" or "2.5 seconds"."""
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"


@contextlib.contextmanager
def time_limit(
    seconds: float,
    over: Callable[[FrameType | None], None],
    grant: Callable[[FrameType | None], bool] = lambda frame: False,
) -> Iterator[None]:
    """Run the block for at most ``seconds``, as `Patience` counts them.

    When that time is used up, call ``over`` with the frame that is being executed, and end the process. No exception is
    raised, since code that loops forever may well catch it. A block that is stuck outside Python is not interrupted:
    the parent kills the process. ``grant`` gets the same frame before that; if it returns True, the block may run for
    ``seconds`` again.
    """
    patience = Patience(os.getpid(), seconds)

    def expire(frame: FrameType | None) -> None:
        nonlocal patience
        if left := patience.left():
            set_alarm(left)
            return
        if grant(frame):
            patience = Patience(os.getpid(), seconds)
            set_alarm(seconds)
            return
        lift_memory_limit()
        over(frame)
        _exit(0)

    set_alarm = _alarm(expire)
    set_alarm(seconds)
    try:
        yield
    finally:
        set_alarm(0)


def _alarm(expire: Callable[[FrameType | None], None]) -> Callable[[float], object]:
    """Return ``set_alarm(seconds)``: after that time, ``expire`` is called with the current frame; 0 means never."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda signum, frame: expire(frame))
        return lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    return _Timer(expire).set


class _Timer:
    """A thread that takes the place of an alarm signal on systems that have no such signal."""

    def __init__(self, expire: Callable[[FrameType | None], None]) -> None:
        self._expire = expire
        self._thread = threading.get_ident()
        self._timer: threading.Timer | None = None

    def set(self, seconds: float) -> None:
        """Expire after ``seconds``, unless the timer is set again before; 0 means never."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, lambda: self._expire(sys._current_frames().get(self._thread)))
        self._timer.daemon = True
        if seconds:
            self._timer.start()


def limit_resources() -> None:
    """Limit open files, the size of a file, and processes, of which a trace needs few, and disable core dumps.

    The number of the superuser's processes can't be limited this way. Linux is also asked to end this process rather
    than another one if the system runs out of memory.
    """
    if not CAN_LIMIT:
        return
    _lower(resource.RLIMIT_CORE, 0)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, most), most))  # programs that load data raise it
    _lower(resource.RLIMIT_FSIZE, FILE_MB * MIB)
    with contextlib.suppress(OSError):  # only Linux has these files
        _, tasks = Path("/proc/loadavg").read_text().split()[3].split("/")
        _lower(resource.RLIMIT_NPROC, int(tasks) + SPARE_PROCESSES)
        Path("/proc/self/oom_score_adj").write_text("1000")


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def limit_memory(mebibytes: int) -> None:
    """Deny this process more than ``mebibytes`` MiB in addition to what it has.

    Only private writable memory counts. If the system can't report how much of it there is, or can't limit it, there is
    no limit.
    """
    if not CAN_LIMIT:
        return
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + mebibytes * MIB, hard))


def lift_memory_limit() -> None:
    """Allow as much memory as the system allows, since it takes some memory to report that the limit was exceeded."""
    if not CAN_LIMIT:
        return
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def with_garbage_freed(job: Callable[[], T]) -> T:
    """What ``job`` returns. If memory runs out, garbage is collected, and the job done once more.

    A model that could not be built is garbage in a cycle with the error that it raised. It is a few large objects,
    which Python does not notice: it counts objects, not their memory.
    """
    try:
        return job()
    except BaseException as error:
        if not is_out_of_memory(error):
            raise
    gc.collect()
    return job()


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether ``error``, or one that it was raised from, says that memory ran out."""
    # torch's allocator for the CPU has no exception of its own.
    return any(
        isinstance(cause, MemoryError)
        or type(cause).__name__ == "OutOfMemoryError"
        or "DefaultCPUAllocator" in describe(cause)
        for cause in causes(error)
    )
