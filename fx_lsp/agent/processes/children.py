"""Forked children: each runs one job, sends objects through its own pipe, and exits when the job is done.

`ForkedChildren` is an event loop for one thread: it waits for its children's pipes (and any other descriptor that it
should listen to), ends children that take too long, and reaps the dead. The agent uses it to run one child per request,
and such a child uses it to run one child per target.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import math
import os
import selectors
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Set
from os import _exit
from pathlib import Path
from typing import IO, Any, NoReturn

from fx_lsp.agent.processes.framing import CHUNK, write_all
from fx_lsp.agent.processes.limits import lift_memory_limit
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear, HeartbeatTimer, time_left
from fx_lsp.agent.wire import encode

Emit = Callable[[object], None]
"""Sends one object from a job to the parent; `wire` has to know the object's class."""

Job = Callable[[Emit], None]


class ForkedChild(ChildProcess):
    """A running forked child."""

    def __init__(
        self,
        pid: int,
        pipe: int,
        last_words: IO[bytes],
        *,
        seconds: float,
        longest: float,
        hear: Hear,
        gone: Gone,
        leads_group: bool,
    ) -> None:
        """The child's output is read from ``pipe``; if a signal ends the child, its stack is in ``last_words``."""
        super().__init__(pid, seconds, longest)
        self.pipe = pipe
        self.last_words = last_words
        self.gone = gone
        self.leads_group = leads_group
        self._seconds = seconds
        self._hear = hear

    def hear(self, item: Any) -> None:
        """Pass on an object that the child emitted, and restart the time for which the child may be silent."""
        self._hear(item)
        if not self.is_parked:
            self.allow_silence(self._seconds)

    def resume(self, seconds: float, longest: float = math.inf) -> None:
        """From now on, let the process be silent for ``seconds``, and live for ``longest`` seconds."""
        super().resume(seconds, longest)
        self._seconds = seconds


class ForkedChildren:
    """The forked children of this process, and the event loop that attends to them."""

    def __init__(self, private: Iterable[int] = (), heartbeat: Callable[[], None] = lambda: None) -> None:
        """``private`` are descriptors that are closed in every child.

        ``heartbeat`` is called every second while children are at work, so that whoever waits for this process knows
        that it is still working.
        """
        self._private = set(private)
        self._heartbeat = HeartbeatTimer(heartbeat)
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, ForkedChild] = {}
        self._die_with_parent = parent_death_signal()
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._wake_write = wake_write
        self.listen(wake_read, lambda data: None)

    def __len__(self) -> int:
        """How many children are at work."""
        return len(self._working)

    @property
    def _working(self) -> list[ForkedChild]:
        return [child for child in self._children.values() if not child.is_parked]

    def listen(self, fd: int, heard: Callable[[bytes], object]) -> None:
        """Have `wait` call ``heard`` with the bytes that it reads from ``fd``, with empty bytes at its end."""
        self._selector.register(fd, selectors.EVENT_READ, lambda: heard(os.read(fd, CHUNK)))

    def keep_private(self, fd: int) -> None:
        """Close the descriptor ``fd`` in every child that is forked from now on."""
        self._private.add(fd)

    def close_private(self, fd: int) -> None:
        """Close a descriptor that was kept private."""
        self._private.discard(fd)
        os.close(fd)

    def fork(
        self,
        job: Job,
        *,
        seconds: float,
        longest: float = math.inf,
        hear: Hear,
        gone: Gone,
        leads_group: bool = False,
    ) -> ForkedChild:
        """Start ``job`` in a child that may be silent for ``seconds`` at a time and live for ``longest`` seconds."""
        read, write = os.pipe()
        last_words = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when the child is buried
        parent = os.getpid()
        with warnings.catch_warnings():  # a linear algebra library's threads cope with a fork, but Python warns
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            self._be_child(job, write, last_words, parent, leads_group)
        os.close(write)
        os.set_blocking(read, False)
        if leads_group:  # the child does so, too; the second call changes nothing
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
        child = ForkedChild(
            pid, read, last_words, seconds=seconds, longest=longest, hear=hear, gone=gone, leads_group=leads_group
        )
        self._children[pid] = child
        self._selector.register(read, selectors.EVENT_READ, lambda: self._read(child))
        return child

    def wait(self) -> None:
        """Sleep until a child or a descriptor needs attention, and attend to it."""
        seconds = time_left(self._children.values())
        if self._working:
            seconds = min(seconds, self._heartbeat.due_in())
        for key, _ in self._selector.select(None if seconds == math.inf else seconds):
            key.data()
        for child in list(self._children.values()):
            self._attend(child)
        if self._working:
            self._heartbeat.beat_if_due()

    def wake(self) -> None:
        """Have the next call of `wait` return at once."""
        with contextlib.suppress(BlockingIOError):  # it is full, so there is something to read
            os.write(self._wake_write, b"\0")

    def kill_all(self) -> None:
        """Kill and reap every child; anything that they emitted and that was not read yet is lost."""
        for child in self._children.values():
            child.kill()
        for pid in self._children:
            os.waitpid(pid, 0)
        self._children.clear()

    def _read(self, child: ForkedChild) -> None:
        """Read what is in the pipe. A closed pipe is unregistered: a signal announces the child's death."""
        with contextlib.suppress(BlockingIOError):
            data = os.read(child.pipe, CHUNK)
            if not data:
                self._selector.unregister(child.pipe)
            child.receive(data)

    def _attend(self, child: ForkedChild) -> None:
        """End a child that takes too long; clean up after a dead one."""
        child.enforce_time_limits()
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid == 0:
            return
        if child.leads_group:
            child.kill()  # the processes that it started and left behind
            kill_orphans(self._children.keys())
        child.status = os.waitstatus_to_exitcode(status)
        child.processor_seconds = used.ru_utime + used.ru_stime
        self._bury(child)

    def _bury(self, child: ForkedChild) -> None:
        """Read the rest of a dead child's output, which may be long, and release the child."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(child.pipe, CHUNK):
                child.receive(data)
        with contextlib.suppress(KeyError):
            self._selector.unregister(child.pipe)
        os.close(child.pipe)
        with child.last_words as file:
            child.read_stack(file)
        del self._children[child.pid]
        child.gone(child)

    def _be_child(self, job: Job, pipe: int, last_words: IO[bytes], parent: int, leads_group: bool) -> NoReturn:
        """In the child: give up the parent's event loop, run ``job``, and never return."""

        def begin(emit: Emit) -> None:
            if leads_group:
                os.setpgid(0, 0)
            self._die_with_parent()
            if os.getppid() != parent:
                _exit(1)
            self._forget()
            faulthandler.enable(last_words)
            job(emit)

        run_and_exit(begin, emitter(pipe))

    def _forget(self) -> None:
        """Close or reset what belongs only to the parent."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Registrations are shared with the parent, so they are kept: this process only closes its own descriptors.
        for fd in [*self._private, *(key.fd for key in self._selector.get_map().values())]:
            os.close(fd)
        self._selector.close()


def run_and_exit(job: Job, emit: Emit) -> NoReturn:
    """Run the job and end this process; its exit handlers are not run."""
    status = 1
    try:
        job(emit)
        status = 0
    except BaseException:
        lift_memory_limit()  # it takes some memory to print a traceback
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        _exit(status)


def emitter(pipe: int) -> Emit:
    """A function that writes objects to ``pipe``, for the parent to read."""
    return lambda item: write_all(pipe, encode(item))


def adopt_orphans() -> None:
    """Become the parent of processes that this process's children leave behind, for `kill_orphans`; only on Linux."""
    if sys.platform == "linux":
        become_subreaper = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
        ctypes.CDLL(None).prctl(become_subreaper, ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3)


def kill_orphans(known: Set[int]) -> None:
    """Kill the children that this process has adopted because the processes that started them are dead.

    ``known`` are the ids of the children that this process has started itself.
    """
    while strangers := _children_of_this_process() - known:
        for pid in strangers:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _children_of_this_process() -> set[int]:
    """The ids of this process's children; an empty set if the system does not list them."""
    with contextlib.suppress(OSError):
        return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
    return set()


def parent_death_signal() -> Callable[[], object]:
    """A function that a child calls in order to be killed when its parent dies; it has no effect except on Linux."""
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        prctl = ctypes.CDLL(None).prctl
        return lambda: prctl(set_parent_death_signal, signal.SIGKILL)
    else:  # noqa: RET505 (so that mypy knows which system this is for)
        return lambda: None
