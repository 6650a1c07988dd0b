"""Keeps a process ready that makes the next attempt, so that nobody waits for a fork, nor for the memory it will touch.

A process of a stage (``stage.py``) has a child wait while the last attempt is still being made. The child has given up
its rights and has touched the pages that the attempt before it touched (``touched_pages.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

from fx_lsp.agent.keeping.loaded_code import CodeEdit, StaleError
from fx_lsp.agent.keeping.stage import Stage
from fx_lsp.agent.keeping.touched_pages import PagesTouched, count_faults, pages_touched, touch
from fx_lsp.agent.messages import Report, Target, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChild, ForkedChildren
from fx_lsp.agent.processes.limits import grace
from fx_lsp.agent.processes.request_pipe import RequestReader, RequestWriter
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear
from fx_lsp.agent.tracing.attempt import restrict
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fx_lsp.agent.wire import wire_message

MOST_FAULTS = 500
"""How many pages an attempt may touch for the first time before the next one has them touched ahead."""

PASS_SECONDS = 0.004
"""How long an attempt pauses after its first report, so that the processors are free to pass it on: neither looking for
further failures nor preparing for the next attempt is as urgent."""


@wire_message
@dataclass(frozen=True)
class RunAttempt:
    """To a process: trace the target as it is in the texts of ``trace``."""

    number: int
    target: Target
    trace: Trace


@wire_message
@dataclass(frozen=True)
class IsReady:
    """From a process: it waits for an attempt to make."""


@wire_message
@dataclass(frozen=True)
class IsUnfit:
    """From a process: the text is not one that it can trace, and it waits for another attempt."""


@wire_message
@dataclass(frozen=True)
class HasReported:
    """From a process that makes an attempt, after its first report: it is time to prepare for the next attempt."""

    pages: PagesTouched
    """The pages that it has touched; empty if most of them had been touched ahead."""


Make = Callable[[RunAttempt, CodeEdit, Emit], None]
"""Makes an attempt in this process, into which it first puts the edited code."""


class ReadyAttempt:
    """An attempt that was given to a process."""

    def __init__(self, process: ForkedChild, hear: Hear, unfit: Callable[[], None], gone: Gone) -> None:
        self.process = process
        self.hear = hear
        self.unfit = unfit
        self.gone = gone
        self.is_wanted = True
        """Whether it is still to be made to its end, by this process."""
        self.was_sent = False
        """Whether the process knows of it: a dead process gets no request, and a small pipe holds no large one."""

    def end(self) -> None:
        """Give up the attempt; what it has not emitted yet is never heard, and its end isn't either."""
        if self.is_wanted:  # otherwise, the process has ended, or waits for another attempt
            self.is_wanted = False
            self.process.kill()


class _Process:
    """A process that waits for an attempt, or makes it."""

    def __init__(self, requests: RequestWriter) -> None:
        self.child: ForkedChild
        self.requests = requests
        self.attempt: ReadyAttempt | None = None
        """What it makes; None while it waits."""


class ReadyProcesses:
    """Starts the processes that make attempts, each before its attempt is asked for."""

    def __init__(self, children: ForkedChildren, stage: Stage, file: ImportedFile, trace: Trace, make: Make) -> None:
        """The processes are ``children`` of this one, which is ``stage``; ``trace`` is the request at present."""
        self._children = children
        self._stage = stage
        self._file = file
        self._trace = trace
        self._make = make
        self._waiting: _Process | None = None
        self._pages: PagesTouched = ()
        """The pages that an attempt touches."""
        self._attempts: set[ReadyAttempt] = set()
        """Those whose processes make them, or are about to end."""

    @property
    def is_one_waiting(self) -> bool:
        """Whether a process waits for an attempt."""
        return self._waiting is not None

    def prepare(self, pages: PagesTouched = ()) -> None:
        """Have a process wait for the next attempt, which touches these ``pages``; if none, the same as the last."""
        self._pages = pages or self._pages
        self._waiting = self._waiting or self._fork()

    def start(self, run: RunAttempt, hear: Hear, unfit: Callable[[], None], gone: Gone) -> ReadyAttempt:
        """Have an attempt made: ``hear`` receives what it emits, and ``gone`` its process at the end.

        If the process can't trace the text, or does not get the request, ``unfit`` is called instead.
        """
        self._trace = run.trace
        process, self._waiting = self._waiting or self._fork(), None
        attempt = process.attempt = ReadyAttempt(process.child, hear, unfit, gone)
        self._attempts.add(attempt)
        process.child.resume(attempt_seconds(run.trace))
        attempt.was_sent = process.requests.send(run)
        if not attempt.was_sent:
            process.child.kill()
        return attempt

    def _fork(self) -> _Process:
        process = _Process(RequestWriter(self._children))
        process.child = self._children.fork(
            partial(self._serve, process.requests.reader),
            seconds=attempt_seconds(self._trace),
            hear=partial(self._heard, process),
            gone=partial(self._gone, process),
        )
        process.requests.close_reader()
        return process

    def _heard(self, process: _Process, item: Any) -> None:
        attempt = process.attempt
        if isinstance(item, IsReady):
            if attempt is None:
                process.child.park()
        elif attempt is None or not attempt.is_wanted:
            pass
        elif isinstance(item, IsUnfit):
            self._take_back(process)
            attempt.unfit()
        elif isinstance(item, HasReported):
            self.prepare(item.pages)
        else:
            attempt.hear(item)

    def _take_back(self, process: _Process) -> None:
        assert process.attempt is not None
        process.attempt.is_wanted = False
        self._attempts.discard(process.attempt)
        process.attempt = None
        process.child.park()
        if self._waiting is None:
            self._waiting = process
        else:
            process.child.kill()

    def _gone(self, process: _Process, child: ChildProcess) -> None:
        process.requests.close()
        if process is self._waiting:
            self._waiting = None
        if (attempt := process.attempt) is None:
            return
        self._attempts.discard(attempt)
        was_wanted, attempt.is_wanted = attempt.is_wanted, False
        if was_wanted and attempt.was_sent:
            attempt.gone(child)
        elif was_wanted:
            attempt.unfit()
        if not any(other.is_wanted for other in self._attempts):
            self.prepare()

    def _serve(self, requests: int, emit: Emit) -> None:
        """In the process: wait for an attempt, and make it."""
        restrict(self._trace)
        touch(self._pages)
        tell = telling_pages(emit)
        emit(IsReady())
        reader = RequestReader(requests)
        while True:
            run: RunAttempt = reader.wait()
            try:
                edit = self._stage.edit_for(run.trace.overlays, self._file.notices)
                break
            except StaleError:  # which leaves everything as it is
                emit(IsUnfit())
        self._make(run, edit, tell)


def telling_pages(emit: Emit) -> Emit:
    """``emit`` that is followed by `HasReported` after the first report, with the pages touched from now on."""
    faults, has_reported = count_faults(), False

    def tell(item: object) -> None:
        nonlocal has_reported
        emit(item)
        if isinstance(item, Report) and not has_reported:
            has_reported = True
            sleep(PASS_SECONDS)
            emit(HasReported(pages_touched() if count_faults() - faults > MOST_FAULTS else ()))

    return tell


def attempt_seconds(trace: Trace) -> float:
    """How long the process that makes an attempt may be silent."""
    return trace.limits.seconds + grace(trace.limits.seconds)
