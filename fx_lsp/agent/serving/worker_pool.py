"""Worker processes, started in advance with torch and the workspace's imports: each does one job and is replaced.

They take the place of forked children on systems that can't fork. This module uses only what Python has on every
system: a thread listens to each worker, and the thread that calls `WorkerPool.wait` handles what arrives.
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
"""How long a process may take to become ready: it imports torch, perhaps from a cold disk."""


@dataclass(eq=False)
class Task:
    """A job that a worker does, or will do when it is ready."""

    job: Job
    seconds: float
    """How long the worker may be silent."""
    hear: Hear
    gone: Gone
    abandoned: bool = False
    """Whether to ignore what the job emits."""


class Worker(ChildProcess):
    """A running worker process."""

    def __init__(self, process: subprocess.Popen[bytes], last_words: Path) -> None:
        """``last_words`` is the file to which the worker writes its stack when a signal ends it."""
        super().__init__(process.pid, START_SECONDS)
        self.process = process
        self.task: Task | None = None
        self.ready = False
        self.begun = False
        """Whether the job has begun."""
        self.leaving = False
        """Whether the worker was ended before it had a job."""
        self.importing: str | None = None
        """The module that the worker is importing; None once the worker is ready."""
        self._last_words = last_words

    def assign(self, task: Task) -> None:
        """Give the worker a job, which it will do once it is ready."""
        self.task = task
        self._restart_silence()
        self.send(task.job)

    def hear(self, item: object) -> None:
        """Record the worker's progress, and pass on what its job emits."""
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
        """Once the worker is ready, restart the time for which it may be silent, which is unlimited without a job."""
        if self.ready:
            self.allow_silence(self.task.seconds if self.task else math.inf)

    def send(self, item: object) -> None:
        """Send the worker a picklable object, without waiting until it is read."""
        body = pickle.dumps(item)
        threading.Thread(target=self._write, args=(HEADER.pack(len(body)) + body,), daemon=True).start()

    def send_signal(self, number: int) -> None:
        """Send the worker a signal, unless it is known to be dead."""
        self.process.send_signal(number)

    def close(self) -> None:
        """Store the dead worker's exit status and stack, close its pipes, and remove its stack file."""
        self.status = self.process.returncode
        with contextlib.suppress(OSError), self.process:
            with self._last_words.open("rb") as file:
                self.read_stack(file)
            self._last_words.unlink()

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # the worker is dead, which is noticed elsewhere
            self.process.stdin.write(data)
            self.process.stdin.flush()


class WorkerPool:
    """The workers of this process, and the loop that attends to them."""

    def __init__(self, command: Sequence[str], size: int, heartbeat: Callable[[], None]) -> None:
        """``command`` starts a worker, with the file for its stack as one more argument.

        ``size`` workers wait while there is nothing to do. ``heartbeat`` is called every second while there are jobs,
        so that whoever waits for this process knows that it is still working.
        """
        self._heartbeat = HeartbeatTimer(heartbeat)
        self._command = tuple(command)
        self._size = size
        self._events: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._workers: list[Worker] = []
        self._modules: dict[str, None] = {}
        """The modules that a new process imports, in order."""
        self._refused: set[str] = set()
        """Packages with a module that failed; none of their modules is tried again."""
        self._fill()

    def listen(self, fd: int, heard: Callable[[bytes], object]) -> None:
        """Have `wait` call ``heard`` with the data read from ``fd``, and with empty data when ``fd`` has ended."""
        threading.Thread(target=self._listen, args=(fd, heard), daemon=True).start()

    def want(self, modules: Iterable[str]) -> None:
        """Have future processes import ``modules``, in the order in which a job imported them."""
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
        """End the process of a task, and ignore its messages."""
        task.abandoned = True
        for worker in self._workers:
            if worker.task is task:
                worker.kill()

    def wait(self) -> None:
        """Sleep until something happens, and handle it."""
        with contextlib.suppress(queue.Empty):
            self._events.get(timeout=self._seconds_to_wait())()
        for worker in self._workers:
            worker.enforce_time_limits()
        if self._has_jobs():
            self._heartbeat.beat_if_due()
        if all(worker.task is None for worker in self._workers):
            self._fill()

    def kill_all(self) -> None:
        """End every process, and ignore its messages."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.process.wait()
        self._workers.clear()

    def _spares(self) -> list[Worker]:
        """The workers that wait for a job, the one that has waited longest first."""
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
            start_new_session=True,  # so that the processes that it starts end with it
        )
        worker = Worker(process, last_words)
        worker.send(tuple(name for name in self._modules if package(name) not in self._refused))
        self._workers.append(worker)
        threading.Thread(target=self._attend, args=(worker,), daemon=True).start()
        return worker

    def _assign(self, task: Task) -> None:
        worker = next(iter(self._spares()), None) or self._spawn()
        worker.assign(task)

    # The next two methods run in separate threads.

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
        """Release a dead worker; report the end of its task, or start the task again if it had not begun."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        worker.kill()  # including the processes that it started and left behind
        kill_orphans({other.pid for other in self._workers})
        worker.close()
        remove(scratch_folder(worker.pid))
        if worker.importing:
            self._refused.add(package(worker.importing))
        elif not worker.ready and not worker.leaving:
            self._size = 0  # otherwise workers would be started in vain forever
        if worker.task is None or worker.task.abandoned:
            return
        if worker.importing or (worker.ready and not worker.begun):
            self._assign(worker.task)  # the task did not cause the death
        else:
            worker.task.gone(worker)
