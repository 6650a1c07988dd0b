"""What to report for a target whose child died before it could."""

from __future__ import annotations

import linecache
import re
import signal
from pathlib import Path
from typing import Protocol

from .imports import lines_of
from .messages import Failure, Report, Span, Step, Trace
from .places import is_user_code

FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
"""A line of a stack that `faulthandler` writes."""

ESCAPED = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
"""How it writes a character that is not ASCII."""


LARGEST = 8_000_000
"""Bytes of a file whose lines are looked up."""


class Ended(Protocol):
    """What is known of a process that is dead."""

    overdue: bool
    """It was ended because it was silent for too long."""
    status: int
    """Its exit status, or minus the number of the signal that ended it."""
    processor_seconds: float
    """What it has had of a processor; 0 where that is not known."""
    stack: str
    """What `faulthandler` wrote of the places it was at, where a signal ended it."""


def unanswered(request: Trace, key: str, child: Ended) -> Report:
    """The report for the target ``key`` of ``request``, whose child is dead."""
    chain = _chain(child.stack, request)
    if child.overdue:
        error = f"it took longer than {request.limits.seconds:g} seconds, outside Python code"
        failure = Failure("time-limit", error, chain)
        return Report(request.id, key, "timed-out", (failure,), processor_seconds=child.processor_seconds)
    error = f"the process that traced it {ending(child.status)}"
    return Report(request.id, key, "crashed", (Failure("crash", error, chain),))


def ending(status: int) -> str:
    """In words: a process's exit status, or minus the signal that ended it."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _chain(stack: str, request: Trace) -> tuple[Step, ...]:
    """The steps of the main thread, whose stack comes last, innermost frame first."""
    main_thread = stack.rpartition("(most recent call first):")[2]
    try:
        frames = [tuple(map(_unescape, found)) for found in FRAME.findall(main_thread)]
        return tuple(
            Step(name, _line_span(file, int(line), request))
            for file, line, name in reversed(frames)
            if is_user_code(file)
        )
    except (ValueError, OverflowError, OSError):  # no stack, but what the code that the child ran has written there
        return ()


def _line_span(file: str, line: int, request: Trace) -> Span:
    """A line of the text that was traced, without its indentation: a dying process knows no columns."""
    overlay = request.overlays.get(file)
    lines = _saved_lines(file) if overlay is None else lines_of(overlay)
    text = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
    indent = len(text) - len(text.lstrip())
    return Span(file, line, indent, line, len(text.encode()))


def _saved_lines(file: str) -> list[str]:
    """The lines of a file; none where it is no usual one: it is what the user's code ran in that has named it."""
    path = Path(file)
    return linecache.getlines(file) if path.is_file() and path.stat().st_size <= LARGEST else []


def _unescape(text: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found[0][2:], 16)), text)
