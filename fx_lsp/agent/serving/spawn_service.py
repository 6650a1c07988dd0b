"""The agent on systems that can't fork: each target is traced in a process of the pool, after importing its file.

A forked child starts with the file already imported, but a process of the pool can't. So the agent itself goes
through the rounds of a request's targets, and each attempt imports the file again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from fx_lsp.agent.messages import Costs, Details, Done, Failure, Message, Preload, Proof, Prove, Report, Trace
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.processes.limits import grace
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear
from fx_lsp.agent.running.meta_run import MODULES_FOR_META
from fx_lsp.agent.sandbox.sandbox_entry import run_confined
from fx_lsp.agent.serving.preload import third_party_modules
from fx_lsp.agent.serving.reply_filter import is_answer, only_strings
from fx_lsp.agent.serving.service import Service
from fx_lsp.agent.serving.worker_pool import Task, WorkerPool
from fx_lsp.agent.tracing.attempt import Attempt, Imported, run_attempt
from fx_lsp.agent.tracing.death_reports import death_report
from fx_lsp.agent.tracing.target_rounds import TargetRounds
from fx_lsp.agent.tracing.trace_request import TraceSession
from fx_lsp.agent.wire import wire_message

SPARES = max(2, min(4, os.cpu_count() or 1))
"""How many processes wait for work: no more than can start at a time, since each has its own torch in memory."""


@wire_message
@dataclass(frozen=True)
class Importable:
    """A message to the agent: the file was imported, with these names of classes and these notices."""

    classes: tuple[str, ...]
    notices: tuple[Failure, ...]


class SpawnService(Service["_Request"]):
    """Starts processes in advance, each for one job."""

    def __init__(self, read: int, write: int) -> None:
        # The command that this process was started with; one more argument makes it the command of a worker.
        command = (sys.executable, *sys.orig_argv[1:])
        self._pool = WorkerPool(command, SPARES, self._send_heartbeats)
        super().__init__(read, write, self._pool)

    def _start_trace(self, trace: Trace) -> None:
        self._requests[trace.id] = _Request(trace, self._builtin, self._pool, self._send)

    def _start_proof(self, message: Prove) -> None:
        self._send(Proof(message.id, "untried", "fixes are tried in forked processes, and this system cannot fork"))
        self._send(Done(message.id, (message.file,)))

    def _preload(self, message: Preload) -> None:
        self._pool.want(third_party_modules(message.modules, message))

    def _cancel(self, number: int) -> None:
        request = self._requests.pop(number, None)
        if request is not None:
            request.abandon()
            self._send(request.done(cancelled=True))

    def _proceed(self) -> None:
        for number, request in list(self._requests.items()):
            if request.is_done():
                del self._requests[number]
                self._send(request.done())


class _Request:
    """A trace that is being worked on."""

    def __init__(
        self, trace: Trace, builtin: frozenset[str], pool: WorkerPool, send: Callable[[Message], None]
    ) -> None:
        self._trace = trace
        self._builtin = builtin
        self._pool = pool
        self._send = send
        self._tasks: list[Task] = []
        self._dependencies: set[str] = {trace.file}
        self._importable: Importable | None = None
        self._waiting = {target.key: None for target in trace.targets}
        """Keys of the targets that are not reported yet."""
        self._steps = self._work()

    def is_done(self) -> bool:
        """Continue the work until it has to wait for a process; return whether all is done."""
        return next(self._steps, True) is True

    def done(self, *, cancelled: bool = False) -> Done:
        """The message that ends the request."""
        return Done(self._trace.id, tuple(sorted(self._dependencies)), cancelled)

    def abandon(self) -> None:
        """End all processes of the request."""
        for task in self._tasks:
            self._pool.abandon(task)

    def _work(self) -> Iterator[None]:
        if self._trace.details or self._trace.costs:
            self._pool.want(MODULES_FOR_META)
        ended: list[ChildProcess] = []
        self._start(partial(import_file, self._trace, self._builtin), self._heard, ended.append)
        while not ended:
            yield
        if self._importable is None:
            for key in list(self._waiting):
                self._heard(death_report(self._trace, key, ended[0]))
            return
        classes, notices = self._importable.classes, self._importable.notices
        yield from TargetRounds(self._trace, classes, notices, self._attempt, self._heard).steps()

    def _attempt(self, attempt: Attempt, hear: Hear, gone: Gone) -> None:
        self._start(partial(import_and_attempt, attempt, self._trace, self._builtin), hear, gone)

    def _start(self, job: Callable[[Emit], None], hear: Hear, gone: Gone) -> None:
        limit = self._trace.limits.seconds
        seconds = limit + grace(limit)
        self._tasks.append(self._pool.start(partial(run_confined, job), seconds=seconds, hear=hear, gone=gone))

    def _heard(self, item: object) -> None:
        if isinstance(item, Imported):
            self._dependencies.update(only_strings(item.dependencies))
            self._pool.want(third_party_modules(only_strings(item.third_party), self._trace))
        elif isinstance(item, Importable):
            self._importable = item
        elif isinstance(item, Report | Details | Costs) and is_answer(item, self._trace):
            if isinstance(item, Report):
                self._waiting.pop(item.target, None)
            self._send(item)


# The functions below run in the pool's processes.


def import_file(trace: Trace, builtin: frozenset[str], emit: Emit) -> None:
    """Emit what `TraceSession` emits about the import and, if that succeeds, an `Importable`."""
    file = TraceSession(trace, builtin, excluding_time_so_far(emit)).imported()
    if file is not None:
        emit(Importable(tuple(file.classes), file.notices))


def import_and_attempt(attempt: Attempt, trace: Trace, builtin: frozenset[str], emit: Emit) -> None:
    """Import the file again, and make an attempt at a target."""
    session = TraceSession(
        replace(trace, targets=(attempt.target, *attempt.parts)), builtin, excluding_time_so_far(emit)
    )
    file = session.imported()
    if file is not None:
        run_attempt(attempt, trace, file, session.emit)


def excluding_time_so_far(emit: Emit) -> Emit:
    """Return ``emit``, with the processor time that this process has used so far subtracted from that of reports."""
    before = time.process_time()

    def emit_timed(item: object) -> None:
        if isinstance(item, Report):
            item = replace(item, processor_seconds=item.processor_seconds - before)
        emit(item)

    return emit_timed
