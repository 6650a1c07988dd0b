"""Runs a job in a child and waits for its result, so that whatever the job does to its process is gone afterwards.

What several jobs need, such as an imported file, is prepared once, in a `JobProcess`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from fx_lsp.agent.inventing.plan_memory import PLANS, Plans
from fx_lsp.agent.messages import Failure, Heartbeat, Verdict
from fx_lsp.agent.processes.children import Emit, ForkedChild, ForkedChildren, Job
from fx_lsp.agent.processes.framing import write_all
from fx_lsp.agent.processes.limits import is_out_of_memory, lift_memory_limit, limit_memory
from fx_lsp.agent.processes.request_pipe import RequestReader
from fx_lsp.agent.processes.tensor_pickles import packed, unpacked
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.death_reports import describe_exit
from fx_lsp.agent.wire import encode, wire_message

P = TypeVar("P")
T = TypeVar("T")


@wire_message
@dataclass(frozen=True)
class Pickled:
    """A job, or what it returned, or how it ended."""

    pickle: bytes
    """Unpickling it is safe: both ends run the same user code, under the same confinement."""
    plans: Plans
    """The arguments that the sender has invented; those of a job are not used."""

    @classmethod
    def of(cls, value: object) -> Pickled:
        """The pickle of ``value``."""
        return cls(packed(value), PLANS.known)

    @property
    def value(self) -> Any:
        """What was pickled."""
        return unpacked(self.pickle)


class ProofEnded(Exception):
    """Ends a proof with a verdict; ``reason`` is one sentence without a full stop."""

    def __init__(
        self,
        verdict: Verdict,
        reason: str,
        lacks_inputs: bool = False,
        unreached: bool = False,
        moved_to: Failure | None = None,
        unmended: tuple[str, ...] = (),
        is_costly: bool = False,
    ) -> None:
        super().__init__(verdict, reason, lacks_inputs, unreached, moved_to, unmended, is_costly)
        self.verdict = verdict
        self.reason = reason
        self.lacks_inputs = lacks_inputs
        self.unreached = unreached
        self.moved_to = moved_to
        self.unmended = unmended
        """The places at which the edit mends no failure, if that is why it is refuted."""
        self.is_costly = is_costly
        """Whether no inputs were found because a run of the program does too much."""
        self.has_no_program = False
        """Whether the program can't be built, or takes too long."""
        self.of_lone_twin = False
        """Whether this is only about a twin of which no input reaches all the code that the edit replaces."""


class ChildRunner:
    """Runs jobs in children, one after another. Each process creates its own."""

    emit: Emit = staticmethod(lambda item: None)
    """Tells the parent of this process, by sending it something, that this process is waiting for its own children."""

    def __init__(self, seconds: float, memory_mb: int) -> None:
        """Each step of a job may compute for ``seconds``, as `Patience` counts them, and allocate ``memory_mb`` MiB.

        The time for which a job waits for its own jobs does not count.
        """
        self.seconds = seconds
        self._memory_mb = memory_mb
        self.children = ForkedChildren(heartbeat=lambda: ChildRunner.emit(Heartbeat(0)))

    @staticmethod
    def go_on() -> None:
        """In a job: say that one of its steps is done; the next may take as long again."""
        ChildRunner.emit(Heartbeat(0))

    def __call__(self, job: Callable[[], T]) -> T:
        """What ``job`` returns, which must be picklable. Raises `ProofEnded` if the job raises or takes too long."""
        answer: T | ProofEnded = self.answer(job).value
        if isinstance(answer, ProofEnded):
            raise answer
        return answer

    def answer(self, job: Callable[[], object]) -> Pickled:
        """What ``job`` returns, which must be picklable, or the `ProofEnded` that says how it ended.

        The arguments that the child has invented are known to this process afterwards.
        """
        answers: list[Pickled] = []
        self.fork(partial(self._work, job), answers)
        while self.children:
            self.children.wait()
        PLANS.known.update(answers[0].plans)
        return answers[0]

    def fork(self, job: Job, answers: list[Pickled], gone: Gone = lambda child: None) -> ForkedChild:
        """Start a child, and add its answers to ``answers``; once it is dead, add the reason, and call ``gone``."""

        def add_reason(child: ChildProcess) -> None:
            answers.append(_reason_for(child))
            gone(child)

        return self.children.fork(job, seconds=self.seconds, hear=partial(_hear, answers), gone=add_reason)

    def _work(self, job: Callable[[], object], emit: Emit) -> None:
        self.begin(emit)
        try:
            result = Pickled.of(job())
        except BaseException as error:
            result = Pickled.of(self.ended_by(error))
        emit(result)

    def begin(self, emit: Emit) -> None:
        """In a child: limit its memory, and let its own runners say with ``emit`` that they are waiting."""
        limit_memory(self._memory_mb)
        ChildRunner.emit = staticmethod(emit)

    def ended_by(self, error: BaseException) -> ProofEnded:
        """Why a job ended that raised ``error``."""
        if isinstance(error, ProofEnded):
            return error
        if not is_out_of_memory(error):
            return ProofEnded("untried", f"trying it raises {describe(error)}")
        lift_memory_limit()
        return ProofEnded("untried", f"trying it takes more than {self._memory_mb} MiB of memory")


class JobProcess(Generic[P]):
    """A child that prepares something, once, for its jobs; each of these starts with it, in a child of the child."""

    def __init__(self, runner: Callable[[], ChildRunner], prepare: Callable[[], P]) -> None:
        """``runner`` returns the runner of the process that calls it."""
        self._runner = runner
        self._prepare = prepare
        self._answers: list[Pickled] = []
        self._child: ForkedChild | None = None
        """The process; None if it has not been started yet, or is dead."""
        self._jobs = -1
        """The pipe that jobs are written to."""

    def __call__(self, job: Callable[[P], T]) -> T:
        """What ``job`` returns for what was prepared; both the job and its result must be picklable.

        Raises `ProofEnded` if the job or the preparation raises or takes too long.
        """
        was_ready = self._child is not None
        answer: T | ProofEnded = self._answer(Pickled.of(job)).value
        if was_ready and self._child is None:  # it may have been killed while it waited
            answer = self._answer(Pickled.of(job)).value
        if isinstance(answer, ProofEnded):
            raise answer
        return answer

    def close(self) -> None:
        """End the process, if there is one; another job would start another process."""
        if self._child is not None:
            self._child.kill()
            self._await_death()

    def _answer(self, job: Pickled) -> Pickled:
        runner = self._runner()
        if self._child is None:
            self._start(runner)
            if (failed := self._await_answer()).value is not None:
                self._await_death()
                return failed
        else:
            self._child.resume(runner.seconds)
        with suppress(OSError):  # if the process is dead, that is the answer
            write_all(self._jobs, encode(job))
        answer = self._await_answer()
        if self._child is not None:
            self._child.park()
        return answer

    def _await_answer(self) -> Pickled:
        """The next answer of the process, or the reason of its death."""
        while not self._answers:
            self._runner().children.wait()
        return self._answers.pop(0)

    def _await_death(self) -> None:
        while self._child is not None:
            self._runner().children.wait()

    def _start(self, runner: ChildRunner) -> None:
        self._answers.clear()
        reader, self._jobs = os.pipe()
        runner.children.keep_private(self._jobs)
        self._child = runner.fork(partial(self._serve, runner, reader), self._answers, self._gone)
        os.close(reader)

    def _gone(self, child: ChildProcess) -> None:
        self._child = None
        self._runner().children.close_private(self._jobs)

    def _serve(self, starter: ChildRunner, jobs: int, emit: Emit) -> None:
        """In the process: prepare, say whether that has worked, and run one job after another.

        The parent sends a job only once this process reads jobs: writing a large one would wait for the preparation.
        When the parent closes the pipe, the process ends.
        """
        starter.begin(emit)
        try:
            prepared = self._prepare()
        except BaseException as error:
            emit(Pickled.of(starter.ended_by(error)))
            return
        reader, runner = RequestReader(jobs), self._runner()
        runner.children.keep_private(jobs)
        emit(Pickled.of(None))
        while True:
            emit(runner.answer(partial(_run, reader.wait(), prepared)))


def _run(job: Pickled, prepared: object) -> object:
    return job.value(prepared)


def _hear(answers: list[Pickled], item: object) -> None:
    """Add a child's answer; a heartbeat is not an answer."""
    if isinstance(item, Pickled):
        answers.append(item)


def _reason_for(child: ChildProcess) -> Pickled:
    """The answer of a child that is dead; if it has answered before, only that answer counts."""
    why = (
        "trying the edit takes too long"
        if child.overdue
        else f"the process that was trying the edit {describe_exit(child.status)}"
    )
    end = ProofEnded("untried", why)
    end.has_no_program = child.overdue
    return Pickled.of(end)
