"""Running a job in a child of one's own and waiting for what it returns: what it did to its process is gone then."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from .children import Brood, Child, Emit
from .endings import ending
from .limits import GRACE, is_out_of_memory, lift_memory_limit, limit_memory
from .messages import Verdict
from .places import describe

T = TypeVar("T")


class Settled(Exception):
    """A proof is at its end; ``reason`` is one sentence without its full stop."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(verdict, reason)
        self.verdict = verdict
        self.reason = reason


class Apart:
    """Runs jobs in children, one after another, until ``end`` (by ``time.monotonic``). One for each process."""

    def __init__(self, end: float, memory_mb: int) -> None:
        self._end = end
        self._memory_mb = memory_mb
        self._brood = Brood()

    def __call__(self, job: Callable[[], T]) -> T:
        """What ``job`` returns, which must be picklable. Raises `Settled` where it raises or never ends."""
        answers: list[Any] = []
        seconds = max(self._end - time.monotonic(), 0.0) + GRACE / 10
        self._brood.fork(partial(self._work, job), seconds=seconds, hear=answers.append, gone=partial(_gone, answers))
        while self._brood:
            self._brood.wait()
        if isinstance(answers[0], Settled):
            raise answers[0]
        answer: T = answers[0]
        return answer

    def _work(self, job: Callable[[], T], emit: Emit) -> None:
        limit_memory(self._memory_mb)
        try:
            answer: object = job()
        except Settled as end:
            answer = end
        except BaseException as error:
            answer = self._raised(error)
        emit(answer)

    def _raised(self, error: BaseException) -> Settled:
        if not is_out_of_memory(error):
            return Settled("untried", f"it raises {describe(error)}")
        lift_memory_limit()
        return Settled("untried", f"it takes more than {self._memory_mb} MiB of memory")


def _gone(answers: list[Any], child: Child) -> None:
    """Settle for a child that is dead; only what came before that counts."""
    why = "it takes too long" if child.overdue else f"the process that ran it {ending(child.status)}"
    answers.append(Settled("untried", why))
