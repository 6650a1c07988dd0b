"""The targets of a request, in rounds, each target in a process that has imported the file.

What the workspace shows how to build comes first. A class that it does not, or not so that it works, is looked for
among the parts of what was built, here or by other files; only then is it built with invented arguments, and last it is
looked for among the parts of what was built so.
"""

from __future__ import annotations

import dataclasses
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from fx_lsp.agent.messages import Failure, Outcome, Recipe, Report, Target, Trace
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear
from fx_lsp.agent.tracing.attempt import Attempt, HasParts, RetryOnCpu, with_notices
from fx_lsp.agent.tracing.death_reports import death_report

_EXCEEDED: tuple[Outcome, ...] = ("timed-out", "out-of-memory")
"""Outcomes that other arguments may not have."""

_RANKS: tuple[Outcome, ...] = (*_EXCEEDED, "not-built", "unchecked", "failed")
"""Outcomes that something better may come after; of two, the later one tells more."""

Start = Callable[[Attempt, Hear, Gone], object]
"""Starts an attempt in a process of its own, and says who hears what it emits, and that it is over."""


class TargetRounds:
    """The targets of a request, a few at a time."""

    def __init__(
        self, request: Trace, classes: Collection[str], notices: tuple[Failure, ...], start: Start, emit: Emit
    ) -> None:
        """``classes`` are the names of the file's classes; ``notices`` are those of its import."""
        self._request = request
        self._notices = notices
        self._start = start
        self._emit = emit
        self._at_once = request.limits.at_once or os.cpu_count() or 1
        self._waiting: deque[Attempt] = deque()
        self._running = 0
        self._unanswered: set[Attempt] = set()
        """Those under way that the next round waits for; what the others have yet to tell changes nothing in it."""
        self._classes = classes
        self._open = {target.key: target for target in request.targets}
        """Those that nothing final is known of."""
        self._provisional: dict[str, tuple[Report, Attempt]] = {}
        """The report on an open target unless a better one comes, and the attempt that it comes from."""
        self._told: dict[str, Attempt] = {}
        """By its key, what the report on a target that is not open came from."""
        self._hosts: dict[str, tuple[Attempt, tuple[str, ...]]] = {}
        """By the key of a target that has parts: the attempt, and the keys of the targets of the parts' classes."""

    def steps(self) -> Iterator[None]:
        """Trace them all, and emit a `Report` for each; whenever this waits for a process, that is a step."""
        sure = [_sure(target) for target in self._request.targets if not target.recipe.made_up]
        yield from self._trace(Attempt(target) for target in sure)
        yield from self._trace(self._part_attempts())
        yield from self._trace_in_hosts(made_up=False)
        self._settle(*_EXCEEDED, "failed")
        made_up = [_made_up(target) for target in self._open.values()]
        yield from self._trace(Attempt(target) for target in made_up if target.recipe.made_up)
        yield from self._trace(self._part_attempts())
        yield from self._trace_in_hosts(made_up=True)
        self._settle(*_RANKS)
        while self._running:
            yield

    def _trace(self, attempts: Iterable[Attempt]) -> Iterator[None]:
        self._waiting.extend(attempts)
        while self._waiting or self._unanswered:
            while self._waiting and self._running < self._at_once:
                attempt = self._waiting.popleft()
                self._running += 1
                self._unanswered.add(attempt)
                self._start(attempt, partial(self._heard, attempt), partial(self._gone, attempt))
            yield

    def _part_attempts(self) -> list[Attempt]:
        """For the open targets that are parts of a host: of the one that has most of them first."""
        attempts = []
        left = set(self._open)
        for attempt, keys in sorted(self._hosts.values(), key=lambda host: -len(host[1])):
            own = tuple(self._open[key] for key in keys if key in left and key != attempt.target.key)
            left.difference_update(keys)
            if own:
                attempts.append(Attempt(attempt.target, attempt.on_meta, parts=own))
        return attempts

    def _trace_in_hosts(self, *, made_up: bool) -> Iterator[None]:
        """For the open targets that have parts in modules of other files: each one's first host, then its second."""
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
            case RetryOnCpu():
                self._answered(attempt)
                self._waiting.append(Attempt(attempt.target, on_meta=False))
            case HasParts(keys=keys):
                self._hosts[attempt.target.key] = attempt, keys
            case Report():
                if not attempt.parts:
                    self._answered(attempt)
                self._reported(item, attempt)
            case _:
                self._emit(item)

    def _answered(self, attempt: Attempt) -> None:
        """It has said what it has to; the same may follow in full."""
        attempt.answered = True
        self._unanswered.discard(attempt)

    def _reported(self, report: Report, attempt: Attempt) -> None:
        """Tell what is final, and keep the best of the rest; what a part of a host says is no better than as much."""
        if report.target not in self._open:
            if self._told.get(report.target) is attempt:
                self._emit(report)
        elif self._is_final(report):
            self._close(report, attempt)
        else:
            before = self._provisional.get(report.target)
            if before is None or self._worth(report) >= self._worth(before[0]) + bool(attempt.parts):
                self._provisional[report.target] = report, attempt

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


def _sure(target: Target) -> Target:
    """The target with the recipes alone that the workspace shows."""
    return dataclasses.replace(target, fallbacks=tuple(recipe for recipe in target.fallbacks if not recipe.made_up))


def _made_up(target: Target) -> Target:
    """The target with the recipe that makes arguments up, if it has one."""
    recipe = next((recipe for recipe in target.fallbacks if recipe.made_up), target.recipe)
    return dataclasses.replace(target, recipe=recipe, fallbacks=())
