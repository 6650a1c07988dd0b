"""A forked or spawned process of the agent, and the watchdog that ends it where it takes too long.

`ChildProcess` holds what both kinds of process share: how long they may be silent, what they say, how they are ended
and what is known of them when they are dead. How they are started, and how their pipes are read, is for the subclasses.
"""

from __future__ import annotations

import abc
import contextlib
import math
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable
from typing import IO, Any

from fx_lsp.agent.processes.framing import Frames
from fx_lsp.agent.processes.patience import Patience
from fx_lsp.agent.wire import decode

LAST_WORDS = 1 << 20
"""Bytes that are read of the stack that a dying process writes."""

LAST_WORDS_SECONDS = 1.0
"""Seconds that an aborted process has to write its stack; then it is killed."""

HEARTBEAT_SECONDS = 1.0
"""How often a process that waits for others says so."""

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Windows has no other signal for that."""


Hear = Callable[[Any], object]
"""Called with every object that a process emits."""

Gone = Callable[["ChildProcess"], object]
"""Called once a process is dead, after the last object that it emitted."""


class ChildProcess(abc.ABC):
    """A process that was started for a job, until it is dead."""

    leads_group = True
    """It leads a process group, which is killed with it."""

    def __init__(self, pid: int, seconds: float, longest: float = math.inf) -> None:
        """It may be silent for ``seconds`` at a time, and live for ``longest``, whatever it says."""
        self.pid = pid
        self.overdue = False
        """It was ended because it was silent, or lived, for too long."""
        self.status = 0
        """Once it is dead: the exit status, or minus the number of the signal that ended it."""
        self.processor_seconds = 0.0
        """Once it is dead: the processor time that it used; 0 where that is not known."""
        self.stack = ""
        """Once it is dead: the Python stack that `faulthandler` wrote, where a signal ended it."""
        self._frames = Frames()
        self._talks_nonsense = False
        self._lifetime = _Allowance(pid, longest)
        self.allow_silence(seconds)

    @abc.abstractmethod
    def hear(self, item: Any) -> None:
        """Called with every object that it emits."""

    def allow_silence(self, seconds: float) -> None:
        """Let it be silent for ``seconds`` from now on."""
        self._silence = _Allowance(self.pid, seconds)

    def receive(self, data: bytes) -> None:
        """Hear the objects that ``data`` from its pipe completes; if they make no sense, kill it and stop listening."""
        if self._talks_nonsense:
            return
        try:
            for body in self._frames.feed(data):
                self.hear(decode(body))
        except Exception:  # the user's code got hold of the pipe and wrote to it
            traceback.print_exc()
            self._talks_nonsense = True
            self.kill()

    def enforce_time_limits(self) -> None:
        """End it if it takes too long: first so that it writes its stack, then for good."""
        if self._lifetime.is_over():
            self._lifetime = _Allowance(self.pid, math.inf)
            self.overdue = True
            self.kill()
        if self._silence.is_over():
            (self.kill if self.overdue else self.abort)()
            self.overdue = True
            self.allow_silence(LAST_WORDS_SECONDS)

    def abort(self) -> None:
        """Have it write its stack and end, unless it blocks the signal."""
        with contextlib.suppress(OSError):
            self.send_signal(signal.SIGABRT)

    def kill(self) -> None:
        """End it at once, and with it its process group where it leads one and the system has them."""
        with contextlib.suppress(OSError):
            if self.leads_group and hasattr(os, "killpg"):
                os.killpg(self.pid, KILL)
            else:
                self.send_signal(KILL)

    def send_signal(self, number: int) -> None:
        """Send it a signal. Raises OSError where it is gone."""
        os.kill(self.pid, number)

    def read_stack(self, file: IO[bytes]) -> None:
        """Keep the end of what it wrote to ``file`` when it died; the user's code may have written there, too."""
        file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_WORDS))
        self.stack = file.read(LAST_WORDS).decode("ascii", "replace")

    @property
    def deadline(self) -> float:
        """When, by ``time.monotonic``, there may be something to enforce."""
        return min(self._silence.deadline, self._lifetime.deadline)


class _Allowance:
    """The patience with a process, and when to ask for it next."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._patience = Patience(pid, seconds)
        self.deadline = time.monotonic() + seconds
        """By ``time.monotonic``: it is not over before."""

    def is_over(self) -> bool:
        """Whether the process has used what it was granted."""
        if time.monotonic() < self.deadline:
            return False
        left = self._patience.left()
        self.deadline = time.monotonic() + left
        return not left


class HeartbeatTimer:
    """Has a process that waits for others say, every second, that it does."""

    def __init__(self, beat: Callable[[], None]) -> None:
        self._beat = beat
        self._next = 0.0

    def due_in(self) -> float:
        """Seconds until the next beat."""
        return max(0.0, self._next - time.monotonic())

    def beat_if_due(self) -> None:
        """Say it, unless that was less than a second ago."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + HEARTBEAT_SECONDS
            self._beat()


def time_left(processes: Iterable[ChildProcess]) -> float:
    """Seconds until the first deadline among ``processes``; infinite where there is none."""
    return max(0.0, min((process.deadline for process in processes), default=math.inf) - time.monotonic())
