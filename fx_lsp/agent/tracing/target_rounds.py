"""Traces the targets of a request in rounds, each target in a process that has imported the file.

First come the targets that the workspace shows how to build. A class without a recipe that works is then looked for
among the submodules (parts) of what was built, in this file or by recipes of other files. If it is not found, or its
recipe exceeds a limit, it is built with invented arguments. Then it is looked for among the parts of modules built with
invented arguments, and last, if that brought no verdict, among the base classes of all that was built.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from fx_lsp.agent.messages import Failure, Outcome, Recipe, Report, Target, Trace
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear
from fx_lsp.agent.tracing.attempt import Attempt, HasParts, RetryOnCpu, unfinished, with_notices
from fx_lsp.agent.tracing.death_reports import death_of_search, death_report
from fx_lsp.agent.tracing.trace_target import could_not_invent

_EXCEEDED: tuple[Outcome, ...] = ("timed-out", "out-of-memory")
"""Outcomes that other arguments may avoid."""

_UNDEFINED: tuple[Outcome, ...] = ("skipped", "not-imported")
"""Outcomes of an instance that its file, as it was imported, does not define; its class may be defined."""

_RANKS: tuple[Outcome, ...] = (*_UNDEFINED, *_EXCEEDED, "not-built", "unchecked", "failed")
"""Outcomes that a better one may replace, the least informative first."""

Start = Callable[[Attempt, Hear, Gone], object]
"""Starts an attempt in its own process; the callbacks receive what the attempt emits, and the process when it ends."""


class TargetRounds:
    """The targets of a request, a few at a time."""

    def __init__(
        self, request: Trace, classes: Collection[str], notices: tuple[Failure, ...], start: Start, emit: Emit
    ) -> None:
        """``classes`` are the names of the file's classes; ``notices`` are the notices of its import."""
        self._request = request
        self._notices = notices
        self._start = start
        self._emit = emit
        self._at_once = request.limits.at_once or os.cpu_count() or 1
        self._waiting: deque[Attempt] = deque()
        self._running = 0
        self._unanswered: set[Attempt] = set()
        """The running attempts that the next round waits for. Answered attempts may still emit fuller reports."""
        self._classes = classes
        self._open = {target.key: target for target in request.targets}
        """The targets without a final report, by key."""
        self._provisional: dict[str, tuple[Report, Attempt]] = {}
        """By the key of an open target: the best report so far, and the attempt that it came from."""
        self._told: dict[str, Attempt] = {}
        """By the key of a target that is not open: the attempt that its report came from."""
        self._hosts: dict[str, tuple[Attempt, tuple[str, ...]]] = {}
        """By the key of a target that has parts: the attempt, and the keys of the targets of the parts' classes."""
        self._heirs: dict[str, tuple[Attempt, tuple[str, ...]]] = {}
        """The same for targets whose ``forward`` is inherited by what was built."""

    def steps(self) -> Iterator[None]:
        """Trace all targets, and emit a `Report` for each; yields whenever it has to wait for a process."""
        sure = [_sure(target) for target in self._request.targets if not target.recipe.made_up]
        yield from self._trace(Attempt(target) for target in sure)
        yield from self._trace(self._attempts_with_arguments())
        yield from self._trace(self._part_attempts())
        yield from self._trace_in_hosts(made_up=False)
        self._settle("failed")
        made_up = [target.with_invented_arguments() for target in self._open.values()]
        yield from self._trace(Attempt(target) for target in made_up if target.recipe.made_up)
        yield from self._trace(self._part_attempts())
        yield from self._trace_in_hosts(made_up=True)
        yield from self._trace(self._heir_attempts())
        self._settle(*_RANKS)
        while self._running:
            yield

    @property
    def have_told_all(self) -> bool:
        """Whether each target has been reported on; fuller reports may follow."""
        return not self._open

    def _trace(self, attempts: Iterable[Attempt]) -> Iterator[None]:
        self._waiting.extend(attempts)
        while self._waiting or self._unanswered:
            while self._waiting and self._running < self._at_once:
                attempt = self._waiting.popleft()
                self._running += 1
                self._unanswered.add(attempt)
                self._start(attempt, partial(self._heard, attempt), partial(self._gone, attempt))
            yield

    def _attempts_with_arguments(self) -> list[Attempt]:
        """The attempts, by calls with arguments, at classes about which a call without arguments brought no verdict."""
        doubtful = [
            attempt.target
            for report, attempt in self._provisional.values()
            if report.outcome == "unchecked" and attempt.target.is_called_without_arguments
        ]
        return [
            Attempt(dataclasses.replace(target, recipe=target.fallbacks[0], fallbacks=target.fallbacks[1:]))
            for target in doubtful
            if target.fallbacks
        ]

    def _part_attempts(self) -> list[Attempt]:
        """The attempts at open targets that are parts of a host."""
        return self._attempts_in(self._hosts, set(self._open))

    def _heir_attempts(self) -> list[Attempt]:
        """The attempts at targets without a verdict whose ``forward`` is inherited by what was built: one for each."""
        undecided = {key for key, (report, _) in self._provisional.items() if report.outcome == "unchecked"}
        attempts = self._attempts_in(self._heirs, undecided)
        return [Attempt(one.target, one.on_meta, parts=one.parts, of_heirs=True) for one in attempts]

    def _attempts_in(self, hosts: Mapping[str, tuple[Attempt, tuple[str, ...]]], left: set[str]) -> list[Attempt]:
        """The attempts at the targets ``left`` in ``hosts``, the host with the most of them first.

        Of hosts with as many, the first in the file comes first, whichever was built first.
        """
        attempts = []
        for attempt, keys in sorted(hosts.values(), key=_before_others):
            own = tuple(self._open[key] for key in keys if key in left and key != attempt.target.key)
            left.difference_update(keys)
            if own:
                attempts.append(Attempt(attempt.target, attempt.on_meta, parts=own))
        return attempts

    def _trace_in_hosts(self, *, made_up: bool) -> Iterator[None]:
        """Trace open targets as parts of modules of other files: each in its first host, then in its second, …"""
        hosts = {key: [host for host in target.hosts if host.made_up == made_up] for key, target in self._open.items()}
        for turn in range(max(map(len, hosts.values()), default=0)):
            held: dict[Recipe, list[Target]] = {}
            for target in self._open.values():
                for host in hosts[target.key][turn : turn + 1]:
                    held.setdefault(host, []).append(target)
            yield from self._trace(
                Attempt(Target(f"host:{host.root.source}", host.root.source, targets[0].span, host), parts=(*targets,))
                for host, targets in held.items()
            )

    def _heard(self, attempt: Attempt, item: object) -> None:
        match item:
            case RetryOnCpu(certain=certain):
                self._answered(attempt)
                self._waiting.append(Attempt(attempt.target, on_meta=False, certain=certain))
            case HasParts(keys=keys, inherited=inherited):
                self._hosts[attempt.target.key] = attempt, keys
                self._heirs[attempt.target.key] = attempt, inherited
            case Report():
                if not attempt.parts:
                    self._answered(attempt)
                    attempt.last = item
                self._reported(item, attempt)
            case _:
                self._emit(item)

    def _answered(self, attempt: Attempt) -> None:
        """Stop waiting for an attempt: it has answered, although a fuller report may follow."""
        attempt.answered = True
        self._unanswered.discard(attempt)

    def _reported(self, report: Report, attempt: Attempt) -> None:
        """Emit ``report`` if it is final; otherwise, keep it if it is the best one so far.

        A report on a part of a host replaces an earlier report only if it ranks higher, not if both rank the same.
        """
        if report.outcome in _EXCEEDED and attempt.certain is not None:
            report = attempt.certain
        if report.target not in self._open:
            if self._told.get(report.target) is attempt:
                self._emit(report)
        elif self._is_final(report):
            self._close(report, attempt)
        else:
            before = self._provisional.get(report.target)
            if before is not None and _repeats(report, before[0]):
                return
            better = math.inf if before is None else self._worth(report, attempt) - self._worth(*before)
            if better > 0 or (better == 0 and not attempt.parts):
                self._provisional[report.target] = report, attempt

    def _worth(self, report: Report, attempt: Attempt) -> float:
        """The rank of a report.

        That a class can't be built without arguments, or that the workspace's own recipe exceeded a limit, says more
        than a doubtful result.
        """
        if report.outcome in _EXCEEDED and not attempt.target.recipe.made_up:
            return _RANKS.index("failed") - 0.25
        if report.outcome == "not-built" and attempt.target.is_called_without_arguments:
            return _RANKS.index("failed") - 0.5
        return _RANKS.index(report.outcome)

    def _is_final(self, report: Report) -> bool:
        """Whether no other recipe and no host can improve the report; a class that fails alone may pass in a host."""
        target = self._open[report.target]
        is_class = target.intent != "explicit" and target.symbol in self._classes
        if report.outcome in _UNDEFINED:
            return not (is_class and target.key.startswith("instance:") and target.fallbacks)
        return report.outcome not in _RANKS or (report.outcome == "failed" and not is_class)

    def _settle(self, *outcomes: Outcome) -> None:
        """Make the provisional reports with these outcomes final."""
        for report, attempt in list(self._provisional.values()):
            if report.outcome in outcomes:
                self._close(report, attempt)

    def _close(self, report: Report, attempt: Attempt) -> None:
        self._told[report.target] = attempt
        self._open.pop(report.target, None)
        self._provisional.pop(report.target, None)
        self._emit(report)

    def _gone(self, attempt: Attempt, process: ChildProcess) -> None:
        self._running -= 1
        self._unanswered.discard(attempt)
        if not attempt.answered and not attempt.parts:
            report = death_report(self._request, attempt.target.key, process)
            self._reported(with_notices(report, self._notices), attempt)
        elif self._request.capture != "fx" and attempt.last is not None and attempt.last.partial:
            last = unfinished(attempt.last, self._request.capture, death_of_search(self._request, process))
            self._reported(dataclasses.replace(last, processor_seconds=process.processor_seconds), attempt)


def _before_others(host: tuple[Attempt, tuple[str, ...]]) -> tuple[int, int, int, str]:
    """What sorts hosts, each an attempt and the keys of the parts' classes."""
    attempt, keys = host
    return -len(keys), attempt.target.span.line, attempt.target.span.col, attempt.target.key


def _repeats(report: Report, before: Report) -> bool:
    """Whether the search for arguments ended in the same error as the workspace's own call.

    Only an error counts that neither a missing file nor a missing value explains: a TypeError, e.g. for a size that is
    a float, or an AttributeError for a name that the installed NumPy or SciPy lacks, such as ``np.float``.
    """
    if before.outcome != "not-built" or before.reason or report.outcome != "unchecked" or not before.failures:
        return False
    failure = before.failures[0]
    is_own = failure.error.startswith("TypeError: ") and not _OF_NONE.search(failure.error)
    return (is_own or _OLD_NAME.match(failure.error) is not None) and report.reason == could_not_invent(failure)


_OLD_NAME = re.compile(r"AttributeError: [Mm]odule '(numpy|scipy)[.']")
"""An error about a name that these packages, which remove some, don't have."""

_OF_NONE = re.compile(r"'NoneType'|(not|got) NoneType")
"""In the message of an error that ``None`` caused."""


def _sure(target: Target) -> Target:
    """The target with only those fallbacks that the workspace shows."""
    return dataclasses.replace(target, fallbacks=tuple(recipe for recipe in target.fallbacks if not recipe.made_up))
