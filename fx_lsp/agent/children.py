"""Forked children: each runs one job, says things through a pipe of its own, and is gone when the job is.

A `Brood` is an event loop for one thread: it waits on its children's pipes (and whatever else it is told to listen
to), ends those that outstay their time, and reaps the dead. It serves the agent (one child per request) and, inside
such a child, the request (one child per target).
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
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from os import _exit
from pathlib import Path
from typing import IO, Any, NoReturn

from .frames import CHUNK, Frames, write_all
from .queueing import Queueing
from .wire import decode, encode

Emit = Callable[[object], None]
"""How a job speaks to its parent: it sends one object, of a class that `wire` knows."""

Job = Callable[[Emit], None]

LAST_WORDS = 1 << 20
"""Bytes that are read of a stack."""

LAST_WORDS_SECONDS = 1.0
"""How long a child has, once it is told to end, to write down where it is."""


@dataclass(eq=False)
class Child:
    """A running child of a brood."""

    pid: int
    pipe: int
    """Where it is heard; not blocking."""
    seconds: float
    """How long it may be silent."""
    deadline: float
    """When (by ``time.monotonic``) its silence has lasted too long."""
    end: float
    """When it has to be gone, whatever it says."""
    hear: Callable[[Any], None]
    """Called with every object that it emits."""
    gone: Callable[[Child], None]
    """Called once, after the last of them, when it is dead."""
    leads_group: bool
    last_words: IO[bytes]
    """Where it writes the Python stack when a signal ends it."""
    frames: Frames = field(default_factory=Frames)
    queueing: Queueing = field(init=False)
    overdue: bool = False
    """It was ended because it was silent for too long."""
    status: int = 0
    """Once it is dead: the exit status, or minus the number of the signal that ended it."""
    processor_seconds: float = 0.0
    """Once it is dead: what it has had of a processor."""
    stack: str = ""
    """Once it is dead: what `faulthandler` wrote of the places it was at, where a signal ended it."""

    def __post_init__(self) -> None:
        self.queueing = Queueing(self.pid, self.seconds)

    def heard(self, item: Any) -> None:
        """It has said something: from now on it may be silent for all its time again."""
        self.hear(item)
        self.deadline = time.monotonic() + self.seconds
        self.queueing = Queueing(self.pid, self.seconds)

    def abort(self) -> None:
        """Have it write its last words and end, unless it blocks the signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGABRT)

    def kill(self) -> None:
        """End it at once, and with it the whole process group where it leads one."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            (os.killpg if self.leads_group else os.kill)(self.pid, signal.SIGKILL)


class Brood:
    """The children of this process and the loop that attends to them."""

    def __init__(self, private: Iterable[int] = (), waiting: Callable[[], None] = lambda: None) -> None:
        """``private`` are descriptors that no child may have.

        ``waiting`` is called when a child is given more time, for what it stood in line for a processor: who waits for
        this process should not lose patience.
        """
        self._private = tuple(private)
        self._waiting = waiting
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, Child] = {}
        self._die_with_parent = parent_death_signal()
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self.listen(wake_read, lambda data: None)

    def __len__(self) -> int:
        return len(self._children)

    def listen(self, fd: int, heard: Callable[[bytes], object]) -> None:
        """Call ``heard``, in `wait`, with what is read from ``fd``, with nothing at its end."""
        self._selector.register(fd, selectors.EVENT_READ, lambda: heard(os.read(fd, CHUNK)))

    def fork(
        self,
        job: Job,
        *,
        seconds: float,
        longest: float = math.inf,
        hear: Callable[[Any], None],
        gone: Callable[[Child], None],
        leads_group: bool = False,
    ) -> Child:
        """Start ``job`` in a child that may not be silent for longer than ``seconds``, nor live for longer than
        ``longest``."""
        read, write = os.pipe()
        last_words = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when the child is buried
        parent = os.getpid()
        with warnings.catch_warnings():  # a linear algebra library's threads survive a fork; Python warns all the same
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            self._be_child(job, write, last_words, parent, leads_group)
        os.close(write)
        os.set_blocking(read, False)
        if leads_group:  # the child does so too; whoever comes second changes nothing
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
        now = time.monotonic()
        child = Child(pid, read, seconds, now + seconds, now + longest, hear, gone, leads_group, last_words)
        self._children[pid] = child
        self._selector.register(read, selectors.EVENT_READ, lambda: self._read(child))
        return child

    def wait(self) -> None:
        """Sleep until something happens, and deal with it."""
        for key, _ in self._selector.select(self._patience()):
            key.data()
        for child in list(self._children.values()):
            self._attend(child)

    def kill_all(self) -> None:
        """End and reap every child; none of them is heard any more."""
        for child in self._children.values():
            child.kill()
        for pid in self._children:
            os.waitpid(pid, 0)
        self._children.clear()

    def _patience(self) -> float | None:
        if not self._children:
            return None
        return max(0.0, min(min(child.deadline, child.end) for child in self._children.values()) - time.monotonic())

    def _read(self, child: Child) -> None:
        """Take what is in the pipe. A closed pipe is no longer waited on: the child's death is told by a signal."""
        with contextlib.suppress(BlockingIOError):
            data = os.read(child.pipe, CHUNK)
            if not data:
                self._selector.unregister(child.pipe)
            self._hear(child, data)

    def _hear(self, child: Child, data: bytes) -> None:
        pass_on(child.frames, data, child.heard, child.kill)

    def _attend(self, child: Child) -> None:
        """End a child that is overdue; bury one that is dead."""
        if time.monotonic() >= child.end:
            child.end = math.inf
            child.overdue = True
            child.kill()
        if time.monotonic() >= child.deadline and not child.overdue and (owed := child.queueing.owed()):
            child.deadline = time.monotonic() + owed
            self._waiting()
        elif time.monotonic() >= child.deadline:
            (child.kill if child.overdue else child.abort)()
            child.overdue = True
            child.deadline = time.monotonic() + LAST_WORDS_SECONDS
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid == 0:
            return
        if child.leads_group:
            child.kill()  # what it started and left behind
            end_strangers(self._children.keys())
        child.status = os.waitstatus_to_exitcode(status)
        child.processor_seconds = used.ru_utime + used.ru_stime
        self._bury(child)

    def _bury(self, child: Child) -> None:
        """Hear its last words, of which there may be many, and let it go."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(child.pipe, CHUNK):
                self._hear(child, data)
        with contextlib.suppress(KeyError):
            self._selector.unregister(child.pipe)
        os.close(child.pipe)
        with child.last_words as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_WORDS))
            child.stack = file.read(LAST_WORDS).decode("ascii", "replace")
        del self._children[child.pid]
        child.gone(child)

    def _be_child(self, job: Job, pipe: int, last_words: IO[bytes], parent: int, leads_group: bool) -> NoReturn:
        """Run ``job`` in a process that has forgotten its parent's loop, and never return."""

        def begin(emit: Emit) -> None:
            if leads_group:
                os.setpgid(0, 0)
            self._die_with_parent()
            if os.getppid() != parent:
                _exit(1)
            self._forget()
            faulthandler.enable(last_words)
            job(emit)

        finish(begin, emitting(pipe))

    def _forget(self) -> None:
        """Give up what belongs to the parent alone."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Registrations are shared with the parent, so none is undone: only this process's copies are closed.
        for fd in [*self._private, *(key.fd for key in self._selector.get_map().values())]:
            os.close(fd)
        self._selector.close()


def finish(job: Job, emit: Emit) -> NoReturn:
    """Do the job and end this process; nothing that is registered to run at its end does."""
    status = 1
    try:
        job(emit)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        _exit(status)


def emitting(pipe: int) -> Emit:
    """To write to a pipe what a parent hears."""
    return lambda item: write_all(pipe, encode(item))


def pass_on(frames: Frames, data: bytes, hear: Callable[[Any], None], garbled: Callable[[], object]) -> None:
    """Call ``hear`` with each object that ``data`` completes, and ``garbled`` where it is none, or makes no sense."""
    try:
        for body in frames.feed(data):
            hear(decode(body))
    except Exception:  # the code that the child runs got hold of the pipe and wrote to it
        traceback.print_exc()
        garbled()


def adopt_orphans() -> None:
    """Be given what this process's children start and leave behind, so that a `Brood` can end it. Only Linux has it."""
    if sys.platform == "linux":
        become_subreaper = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
        ctypes.CDLL(None).prctl(become_subreaper, ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3)


def end_strangers(known: Set[int]) -> None:
    """End what this process has been given as its own because those that started it are dead.

    ``known`` are the ids of the processes that it did start.
    """
    while strangers := _children_of_this_process() - known:
        for pid in strangers:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _children_of_this_process() -> set[int]:
    """Their ids, as far as the system tells."""
    with contextlib.suppress(OSError):
        return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
    return set()


def parent_death_signal() -> Callable[[], object]:
    """What a child calls to be killed when its parent dies. Only Linux has it."""
    if sys.platform != "linux":
        return lambda: None
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(set_parent_death_signal, signal.SIGKILL)
