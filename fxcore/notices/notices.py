"""Where a program traces, but the graph may not do what the program does.

A traced value answers some questions differently from what it stands for, and some effects leave no node. Nothing is
raised there, so each such place is noted while the trace runs (`fxcore.notices.watch`) or found in its result.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from types import FrameType

from fxcore.source import Frame, Place, SourceSpan, stack_places, user_frames, user_place
from fxcore.tracer import TRACE_CODE
from fxcore.tracing.trace_session import TraceSession, current


class NoticeKind(str, Enum):
    """In which way the graph differs from the program. The values are for tools: they stay as they are."""

    TYPE_CHECK = "type-check"
    """``isinstance`` or ``torch.is_tensor`` was false of a traced value, and is true of what that stands for."""
    ATTRIBUTE_CHECK = "attribute-check"
    """``hasattr``, or ``getattr`` with a default, found an attribute that the real value doesn't have."""
    LOOKUP = "lookup"
    """A traced value was looked up in a set or a dict, which holds no traced values."""
    TEXT = "text"
    """A traced value was made into text that the program goes on with."""
    OPTIONAL_INPUT = "optional-input"
    """An input that may be None is a traced value, which never is."""
    UNKNOWN_ATTRIBUTE = "unknown-attribute"
    """A recorded attribute or method that tensors don't have."""
    SWALLOWED_FAILURE = "swallowed-failure"
    """The program's own ``except`` caught a failure of the trace."""
    LEFT_ON_MODULE = "left-on-module"
    """A traced value is still kept by the module when the trace has ended."""
    LOST_WRITE = "lost-write"
    """A write in place that isn't recorded as one, or that dead-code elimination may drop."""
    FROZEN_RANDOM = "frozen-random"
    """Random numbers were drawn once, while tracing."""
    FROZEN_CONSTANT = "frozen-constant"
    """A tensor was computed while tracing, and is a constant of the graph."""
    AUTOGRAD_FUNCTION = "autograd-function"
    """A custom `torch.autograd.Function` was traced through: its ``backward`` is lost."""
    AUTOCAST = "autocast"
    """`torch.autocast` leaves no node."""
    GRAD_MODE = "grad-mode"
    """`torch.no_grad` and its like leave no node."""
    CHECKPOINT = "checkpoint"
    """`torch.utils.checkpoint` leaves no node."""
    TRAINING_FLAG = "training-flag"
    """``self.training`` was read: the graph is the one of this mode."""


@dataclass(frozen=True)
class Notice:
    """One place where the graph may differ from the program."""

    kind: NoticeKind
    frames: tuple[Frame, ...]
    """The user's functions that were running, outermost first, as far as known; the last one's span is the place."""
    detail: str = ""
    """What it is about, e.g. an attribute's name; which, depends on the kind."""

    @property
    def span(self) -> SourceSpan:
        """The source range of the innermost frame."""
        return self.frames[-1].span


class Notices:
    """Collects notices, one of a kind for each place."""

    def __init__(self) -> None:
        self._found: dict[tuple[NoticeKind, Place], tuple[list[Place], str]] = {}

    def running(self, kind: NoticeKind, detail: str = "", frame: FrameType | None = None) -> None:
        """Note the place where the traced program stands, ``frame`` or the caller being the innermost to look at."""
        session = current()
        frame = frame or sys._getframe(1)
        place = None if session is None else innermost_place(session, frame)
        if session is not None and place is not None and (kind, place) not in self._found:
            self._found[kind, place] = running_places(session, frame), detail

    def at(self, kind: NoticeKind, place: Place | None, detail: str = "") -> None:
        """Note a place of which nothing is known but itself."""
        if place is not None:
            self._found.setdefault((kind, place), ([place], detail))

    def listed(self) -> tuple[Notice, ...]:
        """What was noted, in that order."""
        notices = (Notice(kind, user_frames(places), detail) for (kind, _), (places, detail) in self._found.items())
        # One expression may have several instructions, of which the interpreter takes now this, now that.
        by_span: dict[tuple[NoticeKind, SourceSpan], Notice] = {}
        for notice in notices:
            if notice.frames:
                by_span.setdefault((notice.kind, notice.span), notice)
        return tuple(by_span.values())


def innermost_place(session: TraceSession, frame: FrameType) -> Place | None:
    """Where the innermost of the program's frames stands that ``frame`` was called by."""
    return user_place(frame, TRACE_CODE, session.tracer._own_code)


def running_places(session: TraceSession, frame: FrameType) -> list[Place]:
    """Where each of the running frames stands, from the trace to ``frame``; without the tracer's own."""
    return [place for place in stack_places(frame, TRACE_CODE) if place[0] not in session.tracer._own_code]
