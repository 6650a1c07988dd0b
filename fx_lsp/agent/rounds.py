"""The targets of a session, each in a child that starts from the imported file."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from dataclasses import dataclass
from functools import partial
from types import FrameType

from .children import Brood, Child, Emit
from .confinement import confine_alone
from .denials import telling
from .endings import unanswered
from .limits import GRACE, limit_memory, time_limit
from .messages import Failure, Report, Target, Trace
from .places import chain_of_frame, is_user_code
from .shapes import MODULES_FOR_META
from .trace import Doubtful, ImportedFile, TargetRun, is_explorable


@dataclass(frozen=True)
class Imported:
    """A session to the agent: what it has imported so far."""

    dependencies: tuple[str, ...]
    """Files of the workspace."""
    third_party: tuple[str, ...] = ()
    """Modules from elsewhere that the agent didn't have."""


@dataclass(frozen=True)
class OnCpu:
    """A target's child to its session: my report would not be worth much, build it once more, on the CPU."""


@dataclass(eq=False)
class _Attempt:
    """One child's go at a target."""

    target: Target
    on_meta: bool = True
    answered: bool = False


class Targets:
    """The targets of a session, a few at a time."""

    def __init__(self, request: Trace, file: ImportedFile, emit: Emit) -> None:
        self._request = request
        self._file = file
        self._emit = emit
        self._waiting = deque(_Attempt(target) for target in request.targets)

    def run(self) -> None:
        """Trace them all, and emit a `Report` for each."""
        at_once = self._request.limits.at_once or os.cpu_count() or 1
        brood = Brood()
        while self._waiting or brood:
            while self._waiting and len(brood) < at_once:
                self._fork(brood, self._waiting.popleft())
            brood.wait()

    def _fork(self, brood: Brood, attempt: _Attempt) -> None:
        brood.fork(
            partial(self._work, attempt.target, attempt.on_meta),
            seconds=self._request.limits.seconds + GRACE,
            hear=partial(self._heard, attempt),
            gone=partial(self._gone, attempt),
        )

    def _work(self, target: Target, on_meta: bool, emit: Emit) -> None:
        """In the child: one target."""
        limits = self._request.limits
        limit_memory(limits.memory_mb)
        confine_alone()
        emit = telling(emit, self._file.workspace.owns)
        run = TargetRun(self._request.id, target, self._file)

        def timed_out(frame: FrameType | None) -> None:
            error = f"the trace took longer than {limits.seconds:g} seconds"
            emit(run.report("timed-out", Failure("time-limit", error, chain_of_frame(frame, is_user_code))))

        known = self._file.workspace.dependencies
        try:
            with time_limit(limits.seconds, timed_out):
                answer: object = run.run(on_meta=on_meta)
        except Doubtful:
            answer = OnCpu()
        if self._file.workspace.dependencies != known:
            emit(Imported(self._file.workspace.dependencies))
        emit(answer)
        if isinstance(answer, Report) and is_explorable(answer):
            # The first failure is told already: what goes wrong from here on costs no more than the rest.
            with time_limit(limits.seconds, lambda frame: None), contextlib.suppress(Exception):
                emit(run.explore(answer, on_meta=on_meta))
        if isinstance(answer, Report) and answer.outcome == "traced" and self._request.details:
            emit(Imported(self._file.workspace.dependencies, MODULES_FOR_META))
            with time_limit(limits.seconds, lambda frame: None), contextlib.suppress(Exception):
                emit(run.details(limits.seconds))

    def _heard(self, attempt: _Attempt, item: object) -> None:
        if isinstance(item, OnCpu):
            attempt.answered = True
            self._waiting.append(_Attempt(attempt.target, on_meta=False))
            return
        attempt.answered |= isinstance(item, Report)
        self._emit(item)

    def _gone(self, attempt: _Attempt, child: Child) -> None:
        if not attempt.answered:
            self._emit(unanswered(self._request, attempt.target.key, child))
