"""The targets of a session, in rounds, each target in a child that starts from the imported file.

What the workspace shows how to build comes first. A class that it does not, or not so that it works, is looked for
among the parts of what was built, here or by other files; only then is it built with made-up arguments, and last it is
looked for among the parts of what was built so.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from types import FrameType

from .build import Built, build_target
from .children import Brood, Child, Emit
from .confinement import confine_alone
from .denials import telling
from .endings import unanswered
from .limits import GRACE, limit_memory, time_limit
from .messages import Failure, Outcome, Recipe, Report, Target, Trace, Waiting
from .parts import Host, held_classes
from .places import chain_of_frame, is_user_code
from .shapes import MODULES_FOR_META
from .trace import Doubtful, ImportedFile, TargetRun, is_explorable

_EXCEEDED: tuple[Outcome, ...] = ("timed-out", "out-of-memory")
"""Outcomes that other arguments may not have."""

_RANKS: tuple[Outcome, ...] = (*_EXCEEDED, "not-built", "unchecked", "failed")
"""Outcomes that something better may come after; of two, the later one tells more."""


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


@dataclass(frozen=True)
class Holds:
    """A target's child to its session: I have parts that are of the classes of these targets."""

    keys: tuple[str, ...]


@dataclass(eq=False)
class _Attempt:
    """One child's go at a target."""

    target: Target
    on_meta: bool = True
    answered: bool = False
    parts: tuple[Target, ...] = ()
    """What is to be reported instead of it: targets whose classes it has parts of."""


class Targets:
    """The targets of a session, a few at a time."""

    def __init__(self, request: Trace, file: ImportedFile, emit: Emit) -> None:
        self._request = request
        self._file = file
        self._emit = emit
        self._at_once = request.limits.at_once or os.cpu_count() or 1
        self._waiting: deque[_Attempt] = deque()
        self._classes = frozenset(name for name, value in file.namespace.items() if isinstance(value, type))
        self._open = {target.key: target for target in request.targets}
        """Those that nothing final is known of."""
        self._provisional: dict[str, Report] = {}
        """What to say of an open target if nothing better comes."""
        self._hosts: dict[str, tuple[_Attempt, tuple[str, ...]]] = {}
        """By its key, a target that has parts, and the keys of the targets that these are of."""

    def run(self) -> None:
        """Trace them all, and emit a `Report` for each."""
        if self._request.details:
            self._load_for_meta()
        sure = [_sure(target) for target in self._request.targets if not target.recipe.made_up]
        self._trace(_Attempt(target) for target in sure)
        self._trace(self._part_attempts())
        self._trace_in_hosts(made_up=False)
        self._settle(*_EXCEEDED, "failed")
        made_up = [_made_up(target) for target in self._open.values()]
        self._trace(_Attempt(target) for target in made_up if target.recipe.made_up)
        self._trace(self._part_attempts())
        self._trace_in_hosts(made_up=True)
        self._settle(*_RANKS)

    def _trace(self, attempts: Iterable[_Attempt]) -> None:
        self._waiting.extend(attempts)
        at_once = self._request.limits.at_once or os.cpu_count() or 1
        brood = Brood(waiting=lambda: self._emit(Waiting(self._request.id)))
        while self._waiting or brood:
            while self._waiting and len(brood) < at_once:
                self._fork(brood, self._waiting.popleft())
            brood.wait()

    def _part_attempts(self) -> list[_Attempt]:
        """For the open targets that are parts of a host: of the one that has most of them first."""
        attempts = []
        left = set(self._open)
        for attempt, keys in sorted(self._hosts.values(), key=lambda host: -len(host[1])):
            own = tuple(self._open[key] for key in keys if key in left and key != attempt.target.key)
            left.difference_update(keys)
            if own:
                attempts.append(_Attempt(attempt.target, attempt.on_meta, parts=own))
        return attempts

    def _trace_in_hosts(self, *, made_up: bool) -> None:
        """For the open targets that have parts in modules of other files: each one's first host, then its second."""
        hosts = {key: [host for host in target.hosts if host.made_up == made_up] for key, target in self._open.items()}
        for turn in range(max(map(len, hosts.values()), default=0)):
            held: dict[Recipe, list[Target]] = {}
            for target in self._open.values():
                for host in hosts[target.key][turn : turn + 1]:
                    held.setdefault(host, []).append(target)
            self._trace(
                _Attempt(Target(f"host:{host.root.source}", host.root.source, targets[0].span, host), parts=(*targets,))
                for host, targets in held.items()
            )

    def _load_for_meta(self) -> None:
        """Spare each child the import of what running on meta takes, and have the agent spare it the next request."""
        self._emit(Imported(self._file.workspace.dependencies, MODULES_FOR_META))
        for name in MODULES_FOR_META:
            with contextlib.suppress(ImportError):  # another torch has others
                importlib.import_module(name)

    def _fork(self, brood: Brood, attempt: _Attempt) -> None:
        work = partial(self._work_on_parts if attempt.parts else self._work, attempt)
        brood.fork(
            work,
            seconds=self._request.limits.seconds + GRACE,
            hear=partial(self._heard, attempt),
            gone=partial(self._gone, attempt),
        )

    def _start_work(self, emit: Emit) -> Emit:
        """In the child: from here on this process is one for the code of the user."""
        limit_memory(self._request.limits.memory_mb)
        confine_alone()
        return telling(emit, self._file.workspace.owns)

    def _work_on_parts(self, attempt: _Attempt, emit: Emit) -> None:
        """In the child: what the parts of one target tell of others."""
        emit = self._start_work(emit)
        known, seconds = self._file.workspace.dependencies, self._request.limits.seconds
        host = Host(self._request.id, self._file, partial(self._host, attempt))
        for part in attempt.parts:
            with time_limit(seconds, lambda frame: None), contextlib.suppress(Exception):
                report = host.report(part)
                if report is not None:
                    emit(report)
        if self._file.workspace.dependencies != known:
            emit(Imported(self._file.workspace.dependencies))
        for run in host.traced if self._request.details else ():
            self._describe(run, emit)

    def _host(self, attempt: _Attempt) -> Built:
        """What holds the parts: on the CPU where it is of another file, and can't be built on meta."""
        build = partial(build_target, attempt.target, self._file.workspace.file, self._file.namespace)
        try:
            return build(on_meta=attempt.on_meta)
        except Exception:
            if not (attempt.on_meta and attempt.target.recipe.file):
                raise
            return build(on_meta=False)

    def _work(self, attempt: _Attempt, emit: Emit) -> None:
        """In the child: one target."""
        emit = self._start_work(emit)
        limits, target, on_meta = self._request.limits, attempt.target, attempt.on_meta
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
        if held := held_classes(run.root, self._request.targets, self._file):
            emit(Holds(held))
        emit(answer)
        if isinstance(answer, Report) and is_explorable(answer):
            # The first failure is told already: what goes wrong from here on costs no more than the rest.
            with time_limit(limits.seconds, lambda frame: None), contextlib.suppress(Exception):
                emit(run.explore(answer, on_meta=on_meta, for_details=self._request.details))
        if isinstance(answer, Report) and answer.outcome in ("traced", "failed") and self._request.details:
            self._describe(run, emit)

    def _describe(self, run: TargetRun, emit: Emit) -> None:
        """In the child: tell the details of what a run traced, or recorded where it failed."""
        seconds = self._request.limits.seconds
        with time_limit(seconds, lambda frame: None), contextlib.suppress(Exception):
            for details in run.details(seconds):
                emit(details)

    def _heard(self, attempt: _Attempt, item: object) -> None:
        match item:
            case OnCpu():
                self._emit(Waiting(self._request.id))  # it was silent for long, and will be again
                attempt.answered = True
                self._waiting.append(_Attempt(attempt.target, on_meta=False))
            case Holds(keys=keys):
                self._hosts[attempt.target.key] = attempt, keys
            case Report():
                attempt.answered = True
                self._reported(item, of_part=bool(attempt.parts))
            case _:
                self._emit(item)

    def _reported(self, report: Report, *, of_part: bool = False) -> None:
        """Tell what is final, and keep the best of the rest; what a part of a host says is no better than as much."""
        report = dataclasses.replace(report, notices=(*report.notices, *self._file.notices))
        if report.target not in self._open or self._is_final(report):
            self._close(report)
            return
        before = self._provisional.get(report.target)
        if before is None or self._worth(report) >= self._worth(before) + of_part:
            self._provisional[report.target] = report

    def _worth(self, report: Report) -> int:
        """How much it tells. That a class can't be built as it stands is more than that arguments can't be made up."""
        target = self._open[report.target]
        if report.outcome == "not-built" and target.recipe.root.source == f"{target.symbol}()":
            return _RANKS.index("failed")
        return _RANKS.index(report.outcome)

    def _is_final(self, report: Report) -> bool:
        """Whether no other recipe and no host can tell better; a host may be traced through what can't be alone."""
        target = self._open[report.target]
        is_class = target.intent != "explicit" and target.symbol in self._classes
        return report.outcome not in _RANKS or (report.outcome == "failed" and not is_class)

    def _settle(self, *outcomes: Outcome) -> None:
        """Have done with the targets whose provisional reports have these outcomes."""
        for report in list(self._provisional.values()):
            if report.outcome in outcomes:
                self._close(report)

    def _close(self, report: Report) -> None:
        self._open.pop(report.target, None)
        self._provisional.pop(report.target, None)
        self._emit(report)

    def _gone(self, attempt: _Attempt, child: Child) -> None:
        if not attempt.answered and not attempt.parts:
            self._reported(unanswered(self._request, attempt.target.key, child))


def _sure(target: Target) -> Target:
    """The target with the recipes alone that the workspace shows."""
    return dataclasses.replace(target, fallbacks=tuple(recipe for recipe in target.fallbacks if not recipe.made_up))


def _made_up(target: Target) -> Target:
    """The target with the recipe that makes arguments up, if it has one."""
    recipe = next((recipe for recipe in target.fallbacks if recipe.made_up), target.recipe)
    return dataclasses.replace(target, recipe=recipe, fallbacks=())
