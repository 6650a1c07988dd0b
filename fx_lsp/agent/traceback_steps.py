"""Converts exceptions and running frames to the steps of a `Failure`."""

from __future__ import annotations

import linecache
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
"""How many steps to keep at each end of a chain that is longer than twice this number (a recursion)."""

LONGEST_ERROR = 4000
"""The maximum number of characters that are kept of an exception's text."""

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Names of the folders of installed packages, which may be inside the standard library's folder."""

_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""The address of an object: it differs in every process, and means nothing to people."""

Belongs = Callable[[str], bool]
"""Returns whether to keep steps in the file with this name."""


def describe(error: BaseException) -> str:
    """The exception's type and text, without addresses of objects; never raises, whatever its ``__str__`` does."""
    try:
        text = _ADDRESS.sub("", error.msg if isinstance(error, SyntaxError) else str(error))
    except Exception:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}"[:LONGEST_ERROR] if text else name


def told(failure: Failure) -> str:
    """The first line of a failure's error, and its place: ``KeyError: 'p2' (head.py:130)``.

    Of an ``assert`` without a message, that line is the statement.
    """
    error = failure.error.partition("\n")[0]
    if not failure.chain:
        return error
    place = failure.chain[-1].span
    statement = linecache.getline(place.file, place.line).strip()
    if error == AssertionError.__name__ and statement.startswith("assert"):
        error = f"{error}: {statement}"
    return f"{error} ({Path(place.file).name}:{place.line})"


def causes(error: BaseException | None, *, stated: bool = False) -> Iterator[BaseException]:
    """Yield ``error``, the exception that it was raised from or while handling, that exception's cause, and so on.

    With ``stated``, only causes given by ``raise … from`` are followed. Each exception is yielded once: a program can
    make two exceptions each other's cause.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if stated else error.__context__)


def to_failure(failure: TraceFailure) -> Failure:
    """Convert one of fxcore's typed failures to one that can be sent."""
    return Failure(
        failure.kind.value,
        describe(failure.__cause__ or failure),
        chain_of_frames(failure.frames),
        subject=failure.subject or "",
        operation=failure.callee or failure.operation,
        passed_on=failure.passed_on,
    )


def chain_of_error(error: BaseException, belongs: Belongs) -> tuple[Step, ...]:
    """The steps to the place that raised ``error``: the outermost first; for a syntax error, the faulty text last."""
    steps = _steps(traceback_places(error.__traceback__), belongs)
    if isinstance(error, SyntaxError) and error.filename and error.lineno and belongs(error.filename):
        steps.append(Step("<module>", _syntax_error_span(error, error.filename, error.lineno)))
    return _cut(steps)


def chain_of_frame(frame: FrameType | None, belongs: Belongs) -> tuple[Step, ...]:
    """The steps to the place that ``frame`` is executing: the outermost first."""
    places = []
    while frame is not None:
        places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return _cut(_steps(reversed(places), belongs))


def chain_of_frames(frames: Iterable[Frame]) -> tuple[Step, ...]:
    """Convert fxcore's frames to steps that can be sent; of a long chain (a recursion), the middle is left out."""
    return _cut([to_step(frame) for frame in frames])


def is_about_meta(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, mentions the meta device."""
    return any("meta" in str(cause).lower() for cause in causes(error))


def is_user_code(file: str) -> bool:
    """Whether ``file`` is outside torch, fxcore and the agent, and real, unlike ``<frozen importlib._bootstrap>``."""
    return is_user_file(file) and not file.startswith("<")


def is_outside_python(file: str) -> bool:
    """Whether ``file`` is user code outside Python's standard library: where to look for the cause of a hang."""
    return is_user_code(file) and not (file.startswith(_STANDARD_LIBRARY) and INSTALLED.isdisjoint(Path(file).parts))


def to_step(frame: Frame) -> Step:
    """Convert one of fxcore's frames to a step that can be sent."""
    return Step(frame.name, to_span(frame.span))


def to_span(span: SourceSpan) -> Span:
    """Convert one of fxcore's spans to one that can be sent."""
    return Span(span.file, span.line, span.col, span.end_line, span.end_col)


def _steps(places: Iterable[Place], belongs: Belongs) -> list[Step]:
    return [to_step(frame) for frame in user_frames(places) if belongs(frame.span.file)]


def _cut(steps: list[Step]) -> tuple[Step, ...]:
    return tuple(steps if len(steps) <= 2 * ENDS else steps[:ENDS] + steps[-ENDS:])


def _syntax_error_span(error: SyntaxError, file: str, line: int) -> Span:
    """Convert a syntax error's columns, which CPython counts in characters from 1; 0, -1 or None mean unknown."""
    text = (error.text or "").rstrip("\n")
    start = max((error.offset or 1) - 1, 0)
    end = (error.end_offset or 0) - 1 if error.end_lineno in (None, line) else len(text)
    end = max(end, start + 1)
    col, end_col = len(text[:start].encode()), len(text[:end].encode())
    return Span(file, line, col, line, max(end_col, col + 1))
