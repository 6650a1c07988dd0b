"""Where something happened: exceptions and running frames as the steps of a `Failure`."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType

from fx_lsp.agent.messages import Failure, Span, Step
from fxcore.failures import TraceFailure
from fxcore.source import Frame, Place, SourceSpan, is_user_file, traceback_places, user_frames

ENDS = 25
"""Of a chain that is longer than twice this (a recursion), so many of the first and of the last steps are kept."""

LONGEST_ERROR = 4000
"""Characters kept of an exception's text."""

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of what is installed beside the standard library."""

_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""What is another one in every process, and tells a person nothing."""

Belongs = Callable[[str], bool]
"""Whether steps in the file of this name are to be kept."""


def describe(error: BaseException) -> str:
    """The exception's type and text, without addresses of objects; never raises, whatever its ``__str__`` does."""
    try:
        text = _ADDRESS.sub("", error.msg if isinstance(error, SyntaxError) else str(error))
    except Exception:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}"[:LONGEST_ERROR] if text else name


def causes(error: BaseException | None, *, stated: bool = False) -> Iterator[BaseException]:
    """``error``, what it was raised from or, unless the cause has to be ``stated``, while handling, and so on.

    Each once: a program can make two exceptions each other's cause.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if stated else error.__context__)


def to_failure(failure: TraceFailure) -> Failure:
    """A typed failure as it travels."""
    return Failure(
        failure.kind.value,
        describe(failure.__cause__ or failure),
        chain_of_frames(failure.frames),
        subject=failure.subject or "",
        operation=failure.callee or failure.operation,
    )


def chain_of_error(error: BaseException, belongs: Belongs) -> tuple[Step, ...]:
    """The steps to the place that raised ``error``: the outermost first; for a syntax error, the faulty text last."""
    steps = _steps(traceback_places(error.__traceback__), belongs)
    if isinstance(error, SyntaxError) and error.filename and error.lineno and belongs(error.filename):
        steps.append(Step("<module>", _syntax_error_span(error, error.filename, error.lineno)))
    return _cut(steps)


def chain_of_frame(frame: FrameType | None, belongs: Belongs) -> tuple[Step, ...]:
    """The steps to the place where ``frame`` is at work: the outermost first."""
    places = []
    while frame is not None:
        places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return _cut(_steps(reversed(places), belongs))


def chain_of_frames(frames: Iterable[Frame]) -> tuple[Step, ...]:
    """The frames as they travel; many of them (a recursion) with the middle left out."""
    return _cut([to_step(frame) for frame in frames])


def is_user_code(file: str) -> bool:
    """Whether ``file`` is outside torch, fxcore and the agent, and real (``<frozen importlib._bootstrap>`` is not)."""
    return is_user_file(file) and not file.startswith("<")


def is_outside_python(file: str) -> bool:
    """Whether ``file`` is user code, and no part of Python's standard library either: where to look for what hangs."""
    return is_user_code(file) and not (file.startswith(_STANDARD_LIBRARY) and INSTALLED.isdisjoint(Path(file).parts))


def to_step(frame: Frame) -> Step:
    """The frame as it travels."""
    return Step(frame.name, to_span(frame.span))


def to_span(span: SourceSpan) -> Span:
    """The range as it travels."""
    return Span(span.file, span.line, span.col, span.end_line, span.end_col)


def _steps(places: Iterable[Place], belongs: Belongs) -> list[Step]:
    return [to_step(frame) for frame in user_frames(places) if belongs(frame.span.file)]


def _cut(steps: list[Step]) -> tuple[Step, ...]:
    return tuple(steps if len(steps) <= 2 * ENDS else steps[:ENDS] + steps[-ENDS:])


def _syntax_error_span(error: SyntaxError, file: str, line: int) -> Span:
    """CPython counts a syntax error's columns in characters from 1, and 0, -1 or None stand for unknown."""
    text = (error.text or "").rstrip("\n")
    start = max((error.offset or 1) - 1, 0)
    end = (error.end_offset or 0) - 1 if error.end_lineno in (None, line) else len(text)
    end = max(end, start + 1)
    col, end_col = len(text[:start].encode()), len(text[:end].encode())
    return Span(file, line, col, line, max(end_col, col + 1))
