"""A forked or spawned process of the agent, and the watchdog that ends it if it takes too long.

`ChildProcess` has what both kinds of process share: how long they may be silent, what they emit, how they are ended,
and what is known about them once they are dead. The subclasses start the processes and read their pipes.
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
from pathlib import Path
from typing import IO, Any

from fx_lsp.agent.processes.framing import Frames
from fx_lsp.agent.processes.patience import Patience
from fx_lsp.agent.wire import decode

LAST_WORDS = 1 << 20
"""The maximum number of bytes that are read of the stack that a dying process writes."""

LAST_WORDS_SECONDS = 1.0
"""Seconds that an aborted process has to write its stack; after that, it is killed."""

HEARTBEAT_SECONDS = 1.0
"""How often, in seconds, a process that waits for others reports that it is still working."""

FIRST_REST, LONGEST_REST = 2.0, 600.0
"""How many seconds after a process was parked it is checked whether it rests, and the longest pause after that."""

MOST_AT_REST = 0.5
"""How many seconds of processor time a parked process may use before it is killed."""

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""The signal that kills a process; Windows has no SIGKILL."""


Hear = Callable[[Any], object]
"""Called with every object that a process emits."""

Gone = Callable[["ChildProcess"], object]
"""Called once a process is dead, after the last object that it emitted."""


class ChildProcess(abc.ABC):
    """A process that was started for one job, alive or dead."""

    leads_group = True
    """Whether the process leads a process group, which is killed with it."""

    def __init__(self, pid: int, seconds: float, longest: float = math.inf) -> None:
        """The process may be silent for ``seconds`` at a time, and live for ``longest`` seconds at most."""
        self.pid = pid
        self.overdue = False
        """Whether the process was ended because it was silent, or lived, for too long."""
        self.status = 0
        """Once the process is dead: its exit status, or minus the number of the signal that ended it."""
        self.processor_seconds = 0.0
        """Once the process is dead: the processor time that it used; 0 if that is not known."""
        self.stack = ""
        """Once the process is dead: the Python stack that `faulthandler` wrote, if a signal ended the process."""
        self._frames = Frames()
        self._talks_nonsense = False
        self.is_parked = False
        """Whether the process has nothing to do at present, so that it may be silent."""
        self._rest: _Rest | None = None
        self._lifetime = _Allowance(pid, longest)
        self.allow_silence(seconds)

    @abc.abstractmethod
    def hear(self, item: Any) -> None:
        """Called with every object that the process emits."""

    def allow_silence(self, seconds: float) -> None:
        """Let the process be silent for ``seconds`` from now on."""
        self._silence = _Allowance(self.pid, seconds)

    def park(self) -> None:
        """Let the process be silent until `resume` is called, since it has nothing to do."""
        self.is_parked = True
        self._lifetime = _Allowance(self.pid, math.inf)
        self.allow_silence(math.inf)
        self._rest = _Rest(self.pid, self.leads_group)

    def resume(self, seconds: float, longest: float = math.inf) -> None:
        """From now on, let the process be silent for ``seconds``, and live for ``longest`` seconds."""
        self.is_parked = False
        self._lifetime = _Allowance(self.pid, longest)
        self.allow_silence(seconds)
        self._rest = None

    def receive(self, data: bytes) -> None:
        """Call `hear` with the objects that ``data`` completes; if they make no sense, kill the process."""
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
        """End the process if it takes too long.

        A process that is silent for too long is first aborted, so that it writes its stack, and then killed. One that
        is parked is killed if it uses the processor.
        """
        if self._rest is not None and self._rest.is_broken():
            self._rest = None
            self.kill()
        if self._lifetime.is_over():
            self._lifetime = _Allowance(self.pid, math.inf)
            self.overdue = True
            self.kill()
        if self._silence.is_over():
            (self.kill if self.overdue else self.abort)()
            self.overdue = True
            self.allow_silence(LAST_WORDS_SECONDS)

    def abort(self) -> None:
        """Have the process write its stack and end, unless it blocks the signal."""
        with contextlib.suppress(OSError):
            self.send_signal(signal.SIGABRT)

    def kill(self) -> None:
        """End the process at once, with its process group if it leads one and the system has process groups."""
        with contextlib.suppress(OSError):
            if self.leads_group and hasattr(os, "killpg"):
                os.killpg(self.pid, KILL)
            else:
                self.send_signal(KILL)

    def send_signal(self, number: int) -> None:
        """Send the process a signal. Raises OSError if the process is gone."""
        os.kill(self.pid, number)

    def read_stack(self, file: IO[bytes]) -> None:
        """Keep the end of what the process wrote to ``file`` when it died; user code may also have written there."""
        file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_WORDS))
        self.stack = file.read(LAST_WORDS).decode("ascii", "replace")

    @property
    def deadline(self) -> float:
        """When, by ``time.monotonic``, `enforce_time_limits` may next have something to do."""
        rest = math.inf if self._rest is None else self._rest.deadline
        return min(self._silence.deadline, self._lifetime.deadline, rest)


class _Allowance:
    """The time that a process is granted, and when to check next whether it is used up."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._patience = Patience(pid, seconds)
        self.deadline = time.monotonic() + seconds
        """The time, by ``time.monotonic``, before which the allowance can't be over."""

    def is_over(self) -> bool:
        """Whether the process has used the time that it was granted."""
        if time.monotonic() < self.deadline:
            return False
        left = self._patience.left()
        self.deadline = time.monotonic() + left
        return not left


class _Rest:
    """Tells whether a process that has nothing to do, or one of the process group that it leads, uses the processor."""

    def __init__(self, pid: int, leads_group: bool) -> None:
        self._pid = pid
        self._leads_group = leads_group
        self._used: float | None = None
        """What was used until the first look: to look takes milliseconds, in which someone may wait for an answer."""
        self._pause = FIRST_REST
        self.deadline = time.monotonic() + self._pause
        """When, by ``time.monotonic``, to look next; the pauses become longer and longer."""

    def is_broken(self) -> bool:
        """Whether the process was seen to use the processor."""
        if time.monotonic() < self.deadline:
            return False
        self._pause = min(2 * self._pause, LONGEST_REST)
        self.deadline = time.monotonic() + self._pause
        used = self._processor_seconds()
        self._used = used if self._used is None else self._used
        return used - self._used > MOST_AT_REST

    def _processor_seconds(self) -> float:
        """What all threads of the processes have used; 0 if the system does not report it."""
        pids = [self._pid]
        if self._leads_group:
            pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        ticks = 0
        for pid in pids:
            with contextlib.suppress(OSError, ValueError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                if pid == self._pid or int(fields[2]) == self._pid:
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


class HeartbeatTimer:
    """Calls ``beat`` every second while this process waits for others."""

    def __init__(self, beat: Callable[[], None]) -> None:
        self._beat = beat
        self._next = 0.0

    def due_in(self) -> float:
        """Seconds until the next beat."""
        return max(0.0, self._next - time.monotonic())

    def beat_if_due(self) -> None:
        """Call ``beat``, unless the last call was less than a second ago."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + HEARTBEAT_SECONDS
            self._beat()


def time_left(processes: Iterable[ChildProcess]) -> float:
    """Seconds until the first deadline among ``processes``; infinite if there are no processes."""
    return max(0.0, min((process.deadline for process in processes), default=math.inf) - time.monotonic())
