"""What an exception that ends a trace means: its kind, and where in the user's program it happened."""

from __future__ import annotations

import itertools
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING

from fxcore.bytecode import is_call
from fxcore.failures import FailureKind, TraceFailure, as_failure
from fxcore.source import Frame, definition_span, is_user_file, return_span, traceback_places, user_frames
from fxcore.wrap import find_proxy

if TYPE_CHECKING:
    from fxcore.session import TraceSession


def diagnose(error: Exception, trace: CodeType, session: TraceSession) -> TraceFailure:
    """The failure that ``error``, caught by the frame that runs ``trace``, is."""
    below = error.__traceback__ and error.__traceback__.tb_next
    places = itertools.takewhile(lambda place: place[0] is not trace, traceback_places(below))
    if isinstance(error, TraceFailure):
        failure = error
        # A trace within this one has told its part already.
        failure.frames = user_frames(places, session.tracer._own_code) + error.frames
    else:
        failure = as_failure(error, _kind(error, session))
        failure.frames = user_frames(places)
    if not failure.frames and session.root_code is not None:
        failure.frames = _frame_of_root(session.root_code, session.returned)
    return failure


def _kind(error: Exception, session: TraceSession) -> FailureKind:
    if session.root_code is None:
        return FailureKind.CALL_BINDING
    frame, lasti = _innermost_user_frame(error.__traceback__)
    if frame is None or isinstance(error, RecursionError):
        return FailureKind.EXCEPTION
    last = session.tracer._last_failure
    if last is not None and last[1] == (frame.f_code, lasti):  # and something put an error of its own in its place
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
