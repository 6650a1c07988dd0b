"""The places of a program that can't be traced, noted when an exploring trace reaches them."""

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
"""After this many failures, including repeated ones, a run is given up because it makes no progress."""


class GaveUp(BaseException):
    """The run was ended on purpose. This is not an `Exception`, so that the program's handlers don't catch it."""


class SawEnough(GaveUp):
    """The run has left behind the conditions that it reverses, and has been on the path of the first for a while."""


@dataclass
class Site:
    """One place that can't be traced."""

    failure: TraceFailure
    assumption: str
    """How the run continued, e.g. ``it is false``; empty if the run ended here."""
    certain: bool
    """Whether a real run continues as assumed.

    That is certain if given examples show it, or if the assumption is only that a call is recorded.
    """
    after: Site | None
    """The last site before this one whose assumption is a guess; None if a real run is sure to reach this one."""
    cause: tuple[Frame, ...] = ()
    """The operations that lead from an input of the program to the value that the program failed on."""
    count: int = 1
    """How often the run reached this site."""
    turned: bool = False
    """Whether the run gave the unlikely answer here, because a condition was reversed."""
    nodes: dict[Node, None] = field(default_factory=dict)
    """The nodes of the graph that represent this site, in order: values whose content was needed, or calls that are
    recorded although they failed. Empty if there are no such nodes."""
    within: set[type] = field(default_factory=set)
    """The classes of the modules in whose calls the run reached this site."""


class Sites:
    """Collects the sites of one run."""

    def __init__(self) -> None:
        self.found: list[Site] = []
        """The sites, in the order in which the program reached them."""
        self.calls: list[type] = []
        """The classes of the modules that are being called, the outermost first."""
        # One failing expression may need several facts about a value; it is still one place.
        self._by_place: dict[SourceSpan | None, Site] = {}
        # For each failing place (file, code, instruction), its frames at the first failure. The place is None if it
        # isn't in the user's code.
        self._placed_before: dict[tuple[str, CodeType, int] | None, tuple[Frame, ...]] = {}
        # The last site that was passed on a guess.
        self._guess: Site | None = None
        self._events = 0

    def note(
        self,
        failure: TraceFailure,
        assumption: str,
        *,
        certain: bool,
        value: Node | None = None,
        place: SourceSpan | None = None,
    ) -> Site:
        """Note that the run continues past ``failure`` under an assumption, and return the site.

        ``value`` is the node of the value that the program failed on. ``place`` distinguishes the site from others
        whose failures have the same span, as those inside a library's function do. Raises `GaveUp` after too many
        failures.
        """
        place = place or failure.span
        site = self._by_place.get(place)
        if site is not None:
            site.count += 1
        else:
            cause = () if value is None else cause_of(value)
            site = Site(failure, assumption, certain, self._guess, cause)
            self._by_place[place] = site
            self.found.append(site)
        site.within.update(self.calls)
        if not certain:
            self._guess = site
        self._events += 1
        if self._events > MOST_EVENTS:
            raise GaveUp
        return site

    def place(self) -> SourceSpan | None:
        """Where the program is now."""
        frames = user_frames(stack_places(sys._getframe(1), TRACE_CODE))
        return frames[-1].span if frames else None

    def placed(self, failure: TraceFailure) -> TraceFailure:
        """Set the frames of ``failure`` to those at which the program is now, and return it."""
        places = stack_places(sys._getframe(1), TRACE_CODE)
        innermost = next((place for place in reversed(places) if is_user_file(place[0].co_filename)), None)
        # Code objects with the same code are equal, whatever file they are from.
        key = None if innermost is None else (innermost[0].co_filename, *innermost)
        if key not in self._placed_before:  # frames are collected once for each place
            self._placed_before[key] = user_frames(places)
        failure.frames = self._placed_before[key]
        return failure


def caught(error: Exception) -> TraceFailure:
    """The failure for an exception that was caught as it left a function or module that the program called."""
    failure = as_failure(error, FailureKind.EXCEPTION)
    running = stack_places(sys._getframe(1), TRACE_CODE)
    failure.frames = user_frames(itertools.chain(running, traceback_places(error.__traceback__)))
    return failure
