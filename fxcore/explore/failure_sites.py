"""The places of a program that can't be traced, noted while an exploring trace comes by them."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, field
from types import CodeType

from fxcore.failures import FailureKind, TraceFailure, as_failure
from fxcore.failures.subject import cause_of
from fxcore.node import Node
from fxcore.source import Frame, SourceSpan, is_user_file, stack_places, traceback_places, user_frames
from fxcore.tracer import TRACE_CODE

MOST_EVENTS = 5_000
"""Failures met, repeated ones included, after which a run is given up: it isn't going anywhere."""


class GaveUp(BaseException):
    """The run was ended on purpose. No handler in the program is to take this for an error of its own."""


@dataclass
class Site:
    """One place that can't be traced."""

    failure: TraceFailure
    assumption: str
    """How the run went on, e.g. ``it is false``; empty where it didn't."""
    certain: bool
    """Whether a real run goes on here as was assumed: as example inputs say, or because the call is merely recorded."""
    after: Site | None
    """The last site before this one whose assumption is a guess; None where this one is surely reached."""
    cause: tuple[Frame, ...] = ()
    """From an input of the program through the operations to the value that it failed on."""
    count: int = 1
    """How often the run reached it."""
    nodes: dict[Node, None] = field(default_factory=dict)
    """What stands for it in the graph, in order: the values that gave no answer, or the calls that are recorded
    although they failed. Empty where nothing does."""


class Sites:
    """Collects the sites of one run."""

    def __init__(self) -> None:
        self.found: list[Site] = []
        """In the order of the program."""
        # One failing expression may ask several things of a value: it is one place.
        self._by_place: dict[SourceSpan | None, Site] = {}
        # For each place that failed (file, code, instruction) the frames of the first time; None is one of torch's own.
        self._placed_before: dict[tuple[str, CodeType, int] | None, tuple[Frame, ...]] = {}
        # The last site that was passed on a guess.
        self._guess: Site | None = None
        self._events = 0

    def note(self, failure: TraceFailure, assumption: str, *, certain: bool, value: Node | None = None) -> Site:
        """The run goes on past ``failure`` under an assumption. ``value`` is what it failed on.

        Raises `GaveUp` where that happens too often.
        """
        site = self._by_place.get(failure.span)
        if site is not None:
            site.count += 1
        else:
            cause = () if value is None else cause_of(value)
            site = Site(failure, assumption, certain, self._guess, cause)
            self._by_place[failure.span] = site
            self.found.append(site)
        if not certain:
            self._guess = site
        self._events += 1
        if self._events > MOST_EVENTS:
            raise GaveUp
        return site

    def placed(self, failure: TraceFailure) -> TraceFailure:
        """``failure``, which is where the program stands now."""
        places = stack_places(sys._getframe(1), TRACE_CODE)
        innermost = next((place for place in reversed(places) if is_user_file(place[0].co_filename)), None)
        # Code objects of the same text are equal, whatever file they are from.
        key = None if innermost is None else (innermost[0].co_filename, *innermost)
        if key not in self._placed_before:  # a place that is known needs no frames
            self._placed_before[key] = user_frames(places)
        failure.frames = self._placed_before[key]
        return failure


def caught(error: Exception) -> TraceFailure:
    """The failure that an exception is, which was caught on its way out of what the running program called."""
    failure = as_failure(error, FailureKind.EXCEPTION)
    running = stack_places(sys._getframe(1), TRACE_CODE)
    failure.frames = user_frames(itertools.chain(running, traceback_places(error.__traceback__)))
    return failure
