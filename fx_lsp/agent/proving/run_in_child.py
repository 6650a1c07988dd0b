"""Runs a job in a child and waits for its result, so that whatever the job does to its process is gone afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fx_lsp.agent.messages import Failure, Heartbeat, Verdict
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.limits import is_out_of_memory, lift_memory_limit, limit_memory
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.proving.tensor_pickles import dumped, loaded
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.death_reports import describe_exit
from fx_lsp.agent.wire import wire_message

T = TypeVar("T")


@wire_message
@dataclass(frozen=True)
class JobResult:
    """What a job returned, or how it ended."""

    pickled: str
    """The pickle, as base64. Unpickling it is safe: both ends run the same user code, under the same confinement."""

    @classmethod
    def of(cls, value: object) -> JobResult:
        """The result of a job that returned ``value``."""
        return cls(dumped(value))

    @property
    def value(self) -> Any:
        """What the job returned."""
        return loaded(self.pickled)


class ProofEnded(Exception):
    """Ends a proof with a verdict; ``reason`` is one sentence without a full stop."""

    def __init__(
        self, verdict: Verdict, reason: str, lacks_inputs: bool = False, moved_to: Failure | None = None
    ) -> None:
        super().__init__(verdict, reason, lacks_inputs, moved_to)
        self.verdict = verdict
        self.reason = reason
        self.lacks_inputs = lacks_inputs
        self.moved_to = moved_to


class ChildRunner:
    """Runs jobs in children, one after another. Each process creates its own."""

    emit: Emit = staticmethod(lambda item: None)
    """Tells the parent of this process, by sending it something, that this process is waiting for its own children."""

    def __init__(self, seconds: float, memory_mb: int) -> None:
        """Each step of a job may compute for ``seconds``, as `Patience` counts them, and allocate ``memory_mb`` MiB.

        The time for which a job waits for its own jobs does not count.
        """
        self._seconds = seconds
        self._memory_mb = memory_mb
        self._children = ForkedChildren(heartbeat=lambda: ChildRunner.emit(Heartbeat(0)))

    @staticmethod
    def go_on() -> None:
        """In a job: say that one of its steps is done; the next may take as long again."""
        ChildRunner.emit(Heartbeat(0))

    def __call__(self, job: Callable[[], T]) -> T:
        """What ``job`` returns, which must be picklable. Raises `ProofEnded` if the job raises or takes too long."""
        answers: list[JobResult] = []
        self._children.fork(
            partial(self._work, job), seconds=self._seconds, hear=partial(_hear, answers), gone=partial(_gone, answers)
        )
        while self._children:
            self._children.wait()
        answer: T | ProofEnded = answers[0].value
        if isinstance(answer, ProofEnded):
            raise answer
        return answer

    def _work(self, job: Callable[[], T], emit: Emit) -> None:
        limit_memory(self._memory_mb)
        ChildRunner.emit = staticmethod(emit)
        try:
            result = JobResult.of(job())
        except ProofEnded as end:
            result = JobResult.of(end)
        except BaseException as error:
            result = JobResult.of(self._raised(error))
        emit(result)

    def _raised(self, error: BaseException) -> ProofEnded:
        if not is_out_of_memory(error):
            return ProofEnded("untried", f"trying it raises {describe(error)}")
        lift_memory_limit()
        return ProofEnded("untried", f"trying it takes more than {self._memory_mb} MiB of memory")


def _hear(answers: list[JobResult], item: object) -> None:
    """Add a child's answer; a heartbeat is not an answer."""
    if isinstance(item, JobResult):
        answers.append(item)


def _gone(answers: list[JobResult], child: ChildProcess) -> None:
    """Add an answer for a child that is dead; if the child has answered before, only that answer counts."""
    why = (
        "trying the edit takes too long"
        if child.overdue
        else f"the process that was trying the edit {describe_exit(child.status)}"
    )
    answers.append(JobResult.of(ProofEnded("untried", why)))
