"""Runs a job in a child and waits for its result, so that whatever the job does to its process is gone afterwards."""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fx_lsp.agent.messages import Verdict
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.limits import GRACE, is_out_of_memory, lift_memory_limit, limit_memory
from fx_lsp.agent.processes.watchdog import ChildProcess
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
        return cls(base64.b64encode(pickle.dumps(value)).decode())

    @property
    def value(self) -> Any:
        """What the job returned."""
        return pickle.loads(base64.b64decode(self.pickled))


class ProofEnded(Exception):
    """Ends a proof with a verdict; ``reason`` is one sentence without its full stop."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(verdict, reason)
        self.verdict = verdict
        self.reason = reason


class ChildRunner:
    """Runs jobs in children, one after another, until ``end`` (by ``time.monotonic``). Each process creates its own."""

    def __init__(self, end: float, memory_mb: int) -> None:
        self._end = end
        self._memory_mb = memory_mb
        self._children = ForkedChildren()

    def __call__(self, job: Callable[[], T]) -> T:
        """What ``job`` returns, which must be picklable. Raises `ProofEnded` if the job raises or takes too long."""
        answers: list[JobResult] = []
        seconds = max(self._end - time.monotonic(), 0.0) + GRACE / 10
        self._children.fork(
            partial(self._work, job), seconds=seconds, hear=answers.append, gone=partial(_gone, answers)
        )
        while self._children:
            self._children.wait()
        answer: T | ProofEnded = answers[0].value
        if isinstance(answer, ProofEnded):
            raise answer
        return answer

    def _work(self, job: Callable[[], T], emit: Emit) -> None:
        limit_memory(self._memory_mb)
        try:
            answer: object = job()
        except ProofEnded as end:
            answer = end
        except BaseException as error:
            answer = self._raised(error)
        emit(JobResult.of(answer))

    def _raised(self, error: BaseException) -> ProofEnded:
        if not is_out_of_memory(error):
            return ProofEnded("untried", f"trying it raises {describe(error)}")
        lift_memory_limit()
        return ProofEnded("untried", f"trying it takes more than {self._memory_mb} MiB of memory")


def _gone(answers: list[JobResult], child: ChildProcess) -> None:
    """Add an answer for a child that is dead; if the child has answered before, only that answer counts."""
    why = (
        "trying the edit takes too long"
        if child.overdue
        else f"the process that was trying the edit {describe_exit(child.status)}"
    )
    answers.append(JobResult.of(ProofEnded("untried", why)))
