"""Processes that wait, with torch and what the workspace imports loaded, each for one job; another takes its place.

They stand in for forked children where those are not to be had. Nothing here takes more than Python has on every
system: a thread listens to each process, and whatever it hears is dealt with by the one that waits.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .children import LAST_WORDS_SECONDS, Job, end_strangers, pass_on
from .frames import CHUNK, Frames
from .queueing import Queueing
from .rehearsal import package
from .scratch import remove, scratch_folder
from .wire import HEADER
from .worker import Begun, Importing, Ready

START_SECONDS = 120.0
"""How long a process may take until it is ready: it imports torch, perhaps from a cold disk."""

WAITING_SECONDS = 1.0
"""How often it is said that a job waits for a process to be ready."""


@dataclass(eq=False)
class Task:
    """A job that a process does, or will when it is ready."""

    job: Job
    seconds: float
    """How long it may be silent."""
    hear: Callable[[Any], None]
    """Called with every object that it emits."""
    gone: Callable[[Worker], None]
    """Called once, after the last of them, when its process is dead."""
    abandoned: bool = False
    """Nobody wants to hear of it any more."""


@dataclass(eq=False)
class Worker:
    """A running process."""

    process: subprocess.Popen[bytes]
    last_words: Path
    """Where it writes the Python stack when a signal ends it."""
    deadline: float
    """When (by ``time.monotonic``) its silence has lasted too long."""
    queueing: Queueing
    frames: Frames = field(default_factory=Frames)
    task: Task | None = None
    ready: bool = False
    begun: bool = False
    """It does its job."""
    leaving: bool = False
    """It was told to end before it had one."""
    importing: str | None = None
    """The module that it imports, before it is ready."""
    overdue: bool = False
    """It was ended because it was silent for too long."""
    status: int = 0
    """Once it is dead: the exit status, or minus the number of the signal that ended it."""
    processor_seconds: float = 0.0
    """It is not known."""
    stack: str = ""
    """Once it is dead: what `faulthandler` wrote of the places it was at, where a signal ended it."""

    def await_word(self) -> None:
        """Have its time begin anew."""
        if self.ready:
            seconds = self.task.seconds if self.task else math.inf
            self.deadline = time.monotonic() + seconds
            self.queueing = Queueing(self.process.pid, seconds)

    def send(self, item: object) -> None:
        """Have it read a picklable object, once it comes to it."""
        threading.Thread(target=self._write, args=(_frame(item),), daemon=True).start()

    def abort(self) -> None:
        """Have it write its last words and end."""
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGABRT)

    def kill(self) -> None:
        """End it at once, and with it what it started, where the system has groups of processes."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def close(self) -> None:
        """Once it is dead: take its last words, and let go of it."""
        self.status = self.process.returncode
        with contextlib.suppress(OSError), self.process:
            self.stack = self.last_words.read_text(encoding="ascii", errors="replace")
            self.last_words.unlink()

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it is dead, which is noticed elsewhere
            self.process.stdin.write(data)
            self.process.stdin.flush()


class Pool:
    """The processes of this one, and the loop that attends to them."""

    def __init__(self, command: Sequence[str], size: int, waiting: Callable[[], None]) -> None:
        """``command`` starts a process, with where it writes its last words as one more argument; ``size`` of them
        wait while there is nothing to do.

        ``waiting`` is called while a job waits for a process or that for a processor: who waits for this process should
        not lose patience.
        """
        self._waiting = waiting
        self._command = tuple(command)
        self._size = size
        self._events: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._workers: list[Worker] = []
        self._modules: dict[str, None] = {}
        """What a new process imports."""
        self._refused: set[str] = set()
        """Packages with a module that failed; none of theirs is tried again."""
        self._fill()

    def listen(self, fd: int, heard: Callable[[bytes], object]) -> None:
        """Call ``heard``, in `wait`, with what is read from ``fd``, with nothing at its end."""
        threading.Thread(target=self._listen, args=(fd, heard), daemon=True).start()

    def want(self, modules: Iterable[str]) -> None:
        """Have the processes to come import ``modules``, which a job has imported, in that order."""
        new = [name for name in modules if name not in self._modules and package(name) not in self._refused]
        if new:
            self._modules.update(dict.fromkeys(new))
            for worker in self._spares():
                worker.leaving = True
                worker.kill()

    def start(self, job: Job, *, seconds: float, hear: Callable[[Any], None], gone: Callable[[Worker], None]) -> Task:
        """Start ``job``, which must be picklable, in a process that may not be silent for longer than ``seconds``."""
        task = Task(job, seconds, hear, gone)
        self._assign(task)
        return task

    def abandon(self, task: Task) -> None:
        """End the process of a task that nobody wants to hear of any more."""
        task.abandoned = True
        for worker in self._workers:
            if worker.task is task:
                worker.kill()

    def wait(self) -> None:
        """Sleep until something happens, and deal with it."""
        with contextlib.suppress(queue.Empty):
            self._events.get(timeout=self._patience())()
        for worker in self._workers:
            self._mind(worker)
        if any(map(_is_awaited, self._workers)):
            self._waiting()
        if all(worker.task is None for worker in self._workers):
            self._fill()

    def kill_all(self) -> None:
        """End every process; none of them is heard any more."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.process.wait()
        self._workers.clear()

    def _spares(self) -> list[Worker]:
        """Those that wait, the first one for the longest time."""
        return [worker for worker in self._workers if worker.task is None and not worker.leaving]

    def _mind(self, worker: Worker) -> None:
        """End it if it is overdue."""
        if time.monotonic() < worker.deadline:
            return
        if not worker.overdue and (owed := worker.queueing.owed()):
            worker.deadline = time.monotonic() + owed
            self._waiting()
            return
        (worker.kill if worker.overdue else worker.abort)()
        worker.overdue = True
        worker.deadline = time.monotonic() + LAST_WORDS_SECONDS

    def _patience(self) -> float | None:
        if any(map(_is_awaited, self._workers)):
            return WAITING_SECONDS
        first = min((worker.deadline for worker in self._workers), default=math.inf)
        return None if first == math.inf else max(0.0, first - time.monotonic())

    def _fill(self) -> None:
        for _ in range(self._size - len(self._spares())):
            self._spawn()

    def _spawn(self) -> Worker:
        last_words = Path(tempfile.gettempdir(), f"{uuid.uuid4()}.stack")
        process = subprocess.Popen(
            [*self._command, str(last_words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # for what it starts to end with it
        )
        worker = Worker(process, last_words, time.monotonic() + START_SECONDS, Queueing(process.pid, START_SECONDS))
        worker.send(tuple(name for name in self._modules if package(name) not in self._refused))
        self._workers.append(worker)
        threading.Thread(target=self._attend, args=(worker,), daemon=True).start()
        return worker

    def _assign(self, task: Task) -> None:
        worker = next(iter(self._spares()), None) or self._spawn()
        worker.task = task
        worker.await_word()
        worker.send(task.job)

    # These two are for threads of their own.

    def _listen(self, fd: int, heard: Callable[[bytes], object]) -> None:
        data = os.read(fd, CHUNK)
        while data:
            self._events.put(partial(heard, data))
            data = os.read(fd, CHUNK)
        self._events.put(partial(heard, data))

    def _attend(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        self._listen(worker.process.stdout.fileno(), partial(self._read, worker))
        worker.process.wait()
        self._events.put(partial(self._bury, worker))

    def _read(self, worker: Worker, data: bytes) -> None:
        pass_on(worker.frames, data, partial(self._hear, worker), worker.kill)
        worker.await_word()

    def _hear(self, worker: Worker, item: object) -> None:
        if isinstance(item, Begun):
            worker.begun = True
        elif worker.begun:
            if worker.task and not worker.task.abandoned:
                worker.task.hear(item)
        elif isinstance(item, Importing):
            worker.importing = item.module
        elif isinstance(item, Ready):
            worker.ready, worker.importing = True, None

    def _bury(self, worker: Worker) -> None:
        """Let a dead process go."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        worker.kill()  # what it started and left behind
        end_strangers({other.process.pid for other in self._workers})
        worker.close()
        remove(scratch_folder(worker.process.pid))
        if worker.importing:
            self._refused.add(package(worker.importing))
        elif not worker.ready and not worker.leaving:
            self._size = 0  # it would be for ever that they are started in vain
        if worker.task is None or worker.task.abandoned:
            return
        if worker.importing or (worker.ready and not worker.begun):
            self._assign(worker.task)  # it did not die of that
        else:
            worker.task.gone(worker)


def _is_awaited(worker: Worker) -> bool:
    """Whether a job waits for it to be ready."""
    return worker.task is not None and not worker.ready


def _frame(item: object) -> bytes:
    """What a process is told to do, as it goes through a pipe."""
    body = pickle.dumps(item)
    return HEADER.pack(len(body)) + body
