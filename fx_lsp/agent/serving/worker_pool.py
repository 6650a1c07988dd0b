"""Worker processes, started ahead with torch and what the workspace imports loaded: each does one job and is replaced.

They stand in for forked children where the system has none. Nothing here takes more than Python has on every system: a
thread listens to each worker, and what it hears is dealt with by the thread that waits.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fx_lsp.agent.processes.children import Job, kill_orphans
from fx_lsp.agent.processes.framing import CHUNK
from fx_lsp.agent.processes.scratch_folder import remove, scratch_folder
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear, HeartbeatTimer, time_left
from fx_lsp.agent.serving.preload import package
from fx_lsp.agent.serving.worker import ImportBegins, JobBegun, WorkerReady
from fx_lsp.agent.wire import HEADER

START_SECONDS = 120.0
"""How long a process may take until it is ready: it imports torch, perhaps from a cold disk."""


@dataclass(eq=False)
class Task:
    """A job that a worker does, or will do when it is ready."""

    job: Job
    seconds: float
    """How long it may be silent."""
    hear: Hear
    gone: Gone
    abandoned: bool = False
    """Nobody wants to hear from it any more."""


class Worker(ChildProcess):
    """A running worker process."""

    def __init__(self, process: subprocess.Popen[bytes], last_words: Path) -> None:
        """It writes its stack to the file ``last_words`` when a signal ends it."""
        super().__init__(process.pid, START_SECONDS)
        self.process = process
        self.task: Task | None = None
        self.ready = False
        self.begun = False
        """Its job has begun."""
        self.leaving = False
        """It was ended before it had a job."""
        self.importing: str | None = None
        """The module that it imports, before it is ready."""
        self._last_words = last_words

    def assign(self, task: Task) -> None:
        """Have it do a job, once it is ready."""
        self.task = task
        self._restart_silence()
        self.send(task.job)

    def hear(self, item: object) -> None:
        """Note how far it is, and pass on what its job says."""
        if isinstance(item, JobBegun):
            self.begun = True
        elif self.begun:
            if self.task and not self.task.abandoned:
                self.task.hear(item)
        elif isinstance(item, ImportBegins):
            self.importing = item.module
        elif isinstance(item, WorkerReady):
            self.ready, self.importing = True, None
        self._restart_silence()

    def _restart_silence(self) -> None:
        """Let it be silent for all its time again: as long as it likes without a job, but not while it starts."""
        if self.ready:
            self.allow_silence(self.task.seconds if self.task else math.inf)

    def send(self, item: object) -> None:
        """Have it read a picklable object, once it comes to it."""
        body = pickle.dumps(item)
        threading.Thread(target=self._write, args=(HEADER.pack(len(body)) + body,), daemon=True).start()

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it is known to be dead."""
        self.process.send_signal(number)

    def close(self) -> None:
        """Once it is dead: keep its status and its stack, and release its pipes and its file."""
        self.status = self.process.returncode
        with contextlib.suppress(OSError), self.process:
            with self._last_words.open("rb") as file:
                self.read_stack(file)
            self._last_words.unlink()

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it is dead, which is noticed elsewhere
            self.process.stdin.write(data)
            self.process.stdin.flush()


class WorkerPool:
    """The workers of this process, and the loop that attends to them."""

    def __init__(self, command: Sequence[str], size: int, heartbeat: Callable[[], None]) -> None:
        """``command`` starts a worker, with the file for its stack as one more argument; ``size`` of them wait while
        there is nothing to do.

        ``heartbeat`` is called every second while there are jobs, so that whoever waits for this process knows that it
        attends to them.
        """
        self._heartbeat = HeartbeatTimer(heartbeat)
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

    def start(self, job: Job, *, seconds: float, hear: Hear, gone: Gone) -> Task:
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
            self._events.get(timeout=self._seconds_to_wait())()
        for worker in self._workers:
            worker.enforce_time_limits()
        if self._has_jobs():
            self._heartbeat.beat_if_due()
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

    def _seconds_to_wait(self) -> float | None:
        seconds = min(time_left(self._workers), self._heartbeat.due_in() if self._has_jobs() else math.inf)
        return None if seconds == math.inf else seconds

    def _has_jobs(self) -> bool:
        return any(worker.task is not None for worker in self._workers)

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
        worker = Worker(process, last_words)
        worker.send(tuple(name for name in self._modules if package(name) not in self._refused))
        self._workers.append(worker)
        threading.Thread(target=self._attend, args=(worker,), daemon=True).start()
        return worker

    def _assign(self, task: Task) -> None:
        worker = next(iter(self._spares()), None) or self._spawn()
        worker.assign(task)

    # These two are for threads of their own.

    def _listen(self, fd: int, heard: Callable[[bytes], object]) -> None:
        data = os.read(fd, CHUNK)
        while data:
            self._events.put(partial(heard, data))
            data = os.read(fd, CHUNK)
        self._events.put(partial(heard, data))

    def _attend(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        self._listen(worker.process.stdout.fileno(), worker.receive)
        worker.process.wait()
        self._events.put(partial(self._bury, worker))

    def _bury(self, worker: Worker) -> None:
        """Release a dead worker; report the end of its task, or start that anew where it had not begun."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        worker.kill()  # what it started and left behind
        kill_orphans({other.pid for other in self._workers})
        worker.close()
        remove(scratch_folder(worker.pid))
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
