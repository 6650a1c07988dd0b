"""What an exception that ends a trace means: its kind, and where in the user's program it happened."""

from __future__ import annotations

import itertools
from types import CodeType, FrameType, TracebackType

from fxcore.bytecode import is_call
from fxcore.failures import FailureKind, TraceFailure, as_failure
from fxcore.source import Frame, definition_span, is_user_file, return_span, traceback_places, user_frames
from fxcore.wrap import find_proxy


def diagnose(error: Exception, trace: CodeType, root: CodeType | None, returned: bool) -> TraceFailure:
    """The failure that ``error``, caught by the frame that runs ``trace``, is.

    ``root`` is the traced function, None while its arguments are still made; ``returned`` says that it has come to its
    end, so that only what it returned can be at fault.
    """
    traceback = error.__traceback__
    inner = error.frames if isinstance(error, TraceFailure) else ()  # a trace within this one has told its part
    failure = as_failure(error, _kind(traceback, bound=root is not None))
    places = itertools.takewhile(
        lambda place: place[0] is not trace, itertools.islice(traceback_places(traceback), 1, None)
    )
    failure.frames = user_frames(places) + inner
    if not failure.frames and root is not None:
        failure.frames = _frame_of_root(root, returned)
    return failure


def _kind(traceback: TracebackType | None, bound: bool) -> FailureKind:
    if not bound:
        return FailureKind.CALL_BINDING
    frame, lasti = _innermost_user_frame(traceback)
    if frame is not None and is_call(frame.f_code, lasti) and find_proxy(*frame.f_locals.values()) is not None:
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
