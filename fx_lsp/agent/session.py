"""One request, in a process of its own: import the file once, then trace each target in a child that starts from it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import NoReturn

import torch

from .build import SEED
from .children import Brood, Child, Emit
from .devices import Devices
from .endings import unanswered
from .imports import Workspace, third_party
from .limits import GRACE, is_out_of_memory, lift_memory_limit, limit_memory, time_limit
from .messages import Failure, Outcome, Report, Target, Trace
from .places import chain_of_error, chain_of_frame, describe, is_user_code
from .trace import Doubtful, ImportedFile, TargetRun, is_explorable
from .untraced import failures_tolerated, is_consequence


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


class Session:
    """The work on one `Trace`."""

    def __init__(self, request: Trace, builtin: Collection[str], emit: Emit) -> None:
        self._request = request
        self._workspace = Workspace(request, builtin)
        self._emit = emit

    def run(self) -> None:
        """Import, trace, and emit `Imported` and one `Report` for each target."""
        file = self.imported()
        if file is not None:
            _Targets(self._request, file, self._emit).run()

    def imported(self) -> ImportedFile | None:
        """The imported file; None where it could not be imported, which has then been reported.

        From here on this process is one for the code of the user: it has its limits, and no network.
        """
        limit_memory(self._request.limits.memory_mb)
        _stay_offline()
        complete = True
        before = frozenset(sys.modules)
        torch.manual_seed(SEED)
        try:
            name = self._workspace.enter()
            with time_limit(self._request.limits.seconds, self._import_timed_out), failures_tolerated(), Devices():
                self._workspace.load(name)
        except BaseException as error:
            if not is_consequence(error):
                self._import_failed(error)
                return None
            complete = False
        new = [module for module in sys.modules if module not in before]
        self._emit(Imported(self._workspace.dependencies, third_party(new, self._workspace)))
        return ImportedFile(self._workspace, vars(sys.modules[name]) if name in sys.modules else {}, complete)

    def _import_failed(self, error: BaseException) -> None:
        chain = chain_of_error(error, self._workspace.owns)
        if is_out_of_memory(error):
            lift_memory_limit()
            self._give_up("out-of-memory", Failure("memory-limit", describe(error), chain))
        else:
            self._give_up("not-imported", Failure("import", describe(error), chain))

    def _import_timed_out(self, frame: FrameType | None) -> None:
        seconds = self._request.limits.seconds
        error = f"the import took longer than {seconds:g} seconds"
        self._give_up("timed-out", Failure("time-limit", error, chain_of_frame(frame, self._workspace.owns)))

    def _give_up(self, outcome: Outcome, failure: Failure) -> None:
        self._emit(Imported(self._workspace.dependencies))
        for target in self._request.targets:
            self._emit(Report(self._request.id, target.key, outcome, (failure,)))


@dataclass(eq=False)
class _Attempt:
    """One child's go at a target."""

    target: Target
    on_meta: bool = True
    answered: bool = False


class _Targets:
    """The targets of a session, a few at a time."""

    def __init__(self, request: Trace, file: ImportedFile, emit: Emit) -> None:
        self._request = request
        self._file = file
        self._emit = emit
        self._waiting = deque(_Attempt(target) for target in request.targets)

    def run(self) -> None:
        brood = Brood()
        while self._waiting or brood:
            while self._waiting and len(brood) < (os.cpu_count() or 1):
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


def _stay_offline() -> None:
    """Make connections fail at once: imports and constructors like to download, and a trace needs no weights."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise OSError("fx-lsp runs this file without a network")

    socket.getaddrinfo = refuse
    socket.create_connection = refuse
