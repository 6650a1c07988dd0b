"""How long a process may continue, however busy the machine is.

A process is granted seconds of processor time of its own. The time for which it waits for a processor does not count,
and it may sleep for several times as long.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import NamedTuple

SLEEP_FACTOR = 3.0
"""How many times the granted seconds a process may sleep: a disk may be slow, or a process that it waits for may have
to wait for a processor."""

MOST_SLOWDOWN = 2.0
"""How many times the granted seconds a process may compute at most: when other processes use the same caches and cores,
the same work takes more processor time."""

LEAST_SECONDS = 0.05
"""A shorter time is not worth waiting for."""


class Usage(NamedTuple):
    """What a process has done so far, in seconds."""

    wall: float
    """By ``time.monotonic``."""
    computed: float
    """Its main thread's processor time."""
    waited: float
    """How long its main thread was ready to run, but had no processor."""

    def since(self, before: Usage) -> Usage:
        """What the process has done since ``before``."""
        return Usage(self.wall - before.wall, self.computed - before.computed, self.waited - before.waited)

    @property
    def slept(self) -> float:
        """How long the process neither computed nor waited for a processor."""
        return self.wall - self.computed - self.waited


class Patience:
    """The time that one process has been granted, and how much of it is left."""

    def __init__(self, pid: int, seconds: float) -> None:
        """From now on, the process may use ``seconds``, which may be infinite."""
        self._pid = pid
        self._file = Path(f"/proc/{pid}/schedstat")
        self._seconds = seconds
        self._begin = self._usage()

    def left(self) -> float:
        """For how many seconds, at least, the process may continue; 0 if it has used the time that it was granted."""
        if self._seconds == math.inf:
            return math.inf
        used = self._usage().since(self._begin)
        slowdown = min(1 + used.waited / max(used.computed, LEAST_SECONDS), MOST_SLOWDOWN)
        left = min(slowdown * self._seconds - used.computed, SLEEP_FACTOR * self._seconds - used.slept)
        return left if left > LEAST_SECONDS else 0.0

    def _usage(self) -> Usage:
        """What the process has done so far. Only Linux reports on other processes; elsewhere, they count as asleep."""
        wall = time.monotonic()
        try:
            computed, waited = self._file.read_text().split()[:2]
            return Usage(wall, int(computed) / 1e9, int(waited) / 1e9)
        except (OSError, ValueError):
            return Usage(wall, time.process_time() if self._pid == os.getpid() else 0.0, 0.0)
