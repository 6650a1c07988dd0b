"""Notices: places where a program can be traced, but the graph may not do what the program does.

Some tests of a traced value, such as ``isinstance``, have a different result than for the real value, and some effects
leave no node. No error is raised there, so each such place is recorded while the trace runs (`fxcore.notices.watch`) or
found in the resulting graph.
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
    """How the graph may differ from the program. Tools rely on the enum's values, so these never change."""

    TYPE_CHECK = "type-check"
    """``isinstance`` or ``torch.is_tensor`` was false for a traced value, but is true for the real value."""
    ATTRIBUTE_CHECK = "attribute-check"
    """``hasattr``, or ``getattr`` with a default, found an attribute on a traced value that the real one lacks."""
    LOOKUP = "lookup"
    """A traced value was looked up in a set or a dict, which holds no traced values."""
    TEXT = "text"
    """A traced value was converted to text that the program uses."""
    OPTIONAL_INPUT = "optional-input"
    """The program compares an input with None, but a traced value is never None."""
    UNKNOWN_ATTRIBUTE = "unknown-attribute"
    """An attribute or method was recorded that tensors don't have."""
    NUMPY_NUMBER = "numpy-number"
    """A NumPy number was recorded, whose text torch.fx's generated code cannot evaluate."""
    SWALLOWED_FAILURE = "swallowed-failure"
    """The program's own ``except`` caught a failure of the trace."""
    LEFT_ON_MODULE = "left-on-module"
    """An attribute of a module still holds a traced value after the trace."""
    LOST_WRITE = "lost-write"
    """An in-place write isn't recorded as such, or dead-code elimination may drop it."""
    FROZEN_RANDOM = "frozen-random"
    """Random numbers were drawn once, while tracing, so each run of the graph uses the same ones."""
    FROZEN_CONSTANT = "frozen-constant"
    """A tensor was computed while tracing, and is a constant of the graph."""
    AUTOGRAD_FUNCTION = "autograd-function"
    """A custom `torch.autograd.Function` was traced through: its ``backward`` is lost."""
    AUTOCAST = "autocast"
    """`torch.autocast` leaves no node in the graph."""
    GRAD_MODE = "grad-mode"
    """`torch.no_grad` and similar modes leave no node in the graph."""
    CHECKPOINT = "checkpoint"
    """`torch.utils.checkpoint` leaves no node in the graph."""
    TRAINING_FLAG = "training-flag"
    """``self.training`` was read, so the graph is valid only for the mode that it was traced in."""


@dataclass(frozen=True)
class Notice:
    """One place where the graph may differ from the program."""

    kind: NoticeKind
    frames: tuple[Frame, ...]
    """The user's functions that were running, outermost first, as far as known; the last frame's span is the place."""
    detail: str = ""
    """What the notice is about, e.g. an attribute's name; the meaning depends on the kind."""

    @property
    def span(self) -> SourceSpan:
        """The source range of the innermost frame."""
        return self.frames[-1].span


class Notices:
    """Collects notices, at most one of each kind for each place."""

    def __init__(self) -> None:
        self._found: dict[tuple[NoticeKind, Place], tuple[list[Place], str]] = {}

    def running(self, kind: NoticeKind, detail: str = "", frame: FrameType | None = None) -> None:
        """Note the place that the traced program is at, looking outwards from ``frame`` (by default, the caller's)."""
        session = current()
        frame = frame or sys._getframe(1)
        place = None if session is None else innermost_place(session, frame)
        if session is not None and place is not None and (kind, place) not in self._found:
            self._found[kind, place] = running_places(session, frame), detail

    def at(self, kind: NoticeKind, place: Place | None, detail: str = "") -> None:
        """Note a place whose callers aren't known; ignored if ``place`` is None."""
        if place is not None:
            self._found.setdefault((kind, place), ([place], detail))

    def listed(self) -> tuple[Notice, ...]:
        """The notices in the order in which they were found, at most one of each kind for each span."""
        notices = (Notice(kind, user_frames(places), detail) for (kind, _), (places, detail) in self._found.items())
        # One expression may compile to several instructions, so several places may have the same span.
        by_span: dict[tuple[NoticeKind, SourceSpan], Notice] = {}
        for notice in notices:
            if notice.frames:
                by_span.setdefault((notice.kind, notice.span), notice)
        return tuple(by_span.values())


def innermost_place(session: TraceSession, frame: FrameType) -> Place | None:
    """The place of the innermost of the program's frames among ``frame`` and its callers; None if there is none."""
    return user_place(frame, TRACE_CODE, session.tracer._own_code)


def running_places(session: TraceSession, frame: FrameType) -> list[Place]:
    """The place of each running frame from the trace to ``frame``, without the tracer's own frames."""
    return [place for place in stack_places(frame, TRACE_CODE) if place[0] not in session.tracer._own_code]
