"""Running a job in a child of one's own and waiting for what it returns: what it did to its process is gone then."""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .children import Brood, Child, Emit
from .endings import ending
from .limits import GRACE, is_out_of_memory, lift_memory_limit, limit_memory
from .messages import Verdict
from .places import describe
from .wire import spoken

T = TypeVar("T")


@spoken
@dataclass(frozen=True)
class Answer:
    """What a job returned, or how it ended."""

    pickled: str
    """As base64: both ends run the same code of the user's, under the same confinement."""

    @classmethod
    def of(cls, value: object) -> Answer:
        """The answer that is ``value``."""
        return cls(base64.b64encode(pickle.dumps(value)).decode())

    @property
    def value(self) -> Any:
        """The value."""
        return pickle.loads(base64.b64decode(self.pickled))


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
        answers: list[Answer] = []
        seconds = max(self._end - time.monotonic(), 0.0) + GRACE / 10
        self._brood.fork(partial(self._work, job), seconds=seconds, hear=answers.append, gone=partial(_gone, answers))
        while self._brood:
            self._brood.wait()
        answer: T | Settled = answers[0].value
        if isinstance(answer, Settled):
            raise answer
        return answer

    def _work(self, job: Callable[[], T], emit: Emit) -> None:
        limit_memory(self._memory_mb)
        try:
            answer: object = job()
        except Settled as end:
            answer = end
        except BaseException as error:
            answer = self._raised(error)
        emit(Answer.of(answer))

    def _raised(self, error: BaseException) -> Settled:
        if not is_out_of_memory(error):
            return Settled("untried", f"it raises {describe(error)}")
        lift_memory_limit()
        return Settled("untried", f"it takes more than {self._memory_mb} MiB of memory")


def _gone(answers: list[Answer], child: Child) -> None:
    """Settle for a child that is dead; only what came before that counts."""
    why = "it takes too long" if child.overdue else f"the process that ran it {ending(child.status)}"
    answers.append(Answer.of(Settled("untried", why)))
