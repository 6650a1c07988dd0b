"""What an exception that ends a trace means: its kind, and where in the user's program it happened."""

from __future__ import annotations

import itertools
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING

from fxcore.bytecode import is_call
from fxcore.failures import FailureKind, TraceFailure, as_failure
from fxcore.source import Frame, Place, definition_span, is_user_file, return_span, traceback_places, user_frames
from fxcore.wrap import find_proxy

if TYPE_CHECKING:
    from fxcore.session import TraceSession


def diagnose(
    error: Exception, trace: CodeType, session: TraceSession, last: tuple[FailureKind, Place | None] | None
) -> TraceFailure:
    """The failure that ``error``, caught by the frame that runs ``trace``, is.

    ``last`` is the kind and the place of the last failure that the tracer raised: if it was there, this is it, even if
    something on the way put another error in its place.
    """
    traceback = error.__traceback__
    inner = error.frames if isinstance(error, TraceFailure) else ()  # a trace within this one has told its part
    failure = error if isinstance(error, TraceFailure) else as_failure(error, _kind(error, session, last))
    places = itertools.takewhile(
        lambda place: place[0] is not trace, itertools.islice(traceback_places(traceback), 1, None)
    )
    failure.frames = user_frames(places) + inner
    if not failure.frames and session.root_code is not None:
        failure.frames = _frame_of_root(session.root_code, session.returned)
    return failure


def _kind(error: Exception, session: TraceSession, last: tuple[FailureKind, Place | None] | None) -> FailureKind:
    if session.root_code is None:
        return FailureKind.CALL_BINDING
    frame, lasti = _innermost_user_frame(error.__traceback__)
    if frame is None or isinstance(error, RecursionError):
        return FailureKind.EXCEPTION
    if last is not None and last[1] == (frame.f_code, lasti):
        return last[0]
    if is_call(frame.f_code, lasti) and find_proxy(*frame.f_locals.values()) is not None:
        return FailureKind.FOREIGN_CALL
    return FailureKind.EXCEPTION


def _innermost_user_frame(traceback: TracebackType | None) -> tuple[FrameType | None, int]:
    found: tuple[FrameType | None, int] = None, 0
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            found = traceback.tb_frame, traceback.tb_lasti
        traceback = traceback.tb_next
    return found


def _frame_of_root(root: CodeType, returned: bool) -> tuple[Frame, ...]:
    span = (return_span(root) if returned else None) or definition_span(root)
    return () if span is None else (Frame(getattr(root, "co_qualname", root.co_name), span),)
