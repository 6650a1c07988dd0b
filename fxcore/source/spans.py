"""Locations in the user's source: frames, and the exact range of text that each was executing.

Since Python 3.11, code objects have the position of every instruction (PEP 657). In Python 3.10, they have only its
line, so the expression is looked up in the syntax tree. Source is read through `linecache`, so unsaved text in its
cache takes precedence over the file.
"""

from __future__ import annotations

import ast
import dis
import functools
import itertools
import linecache
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, EllipsisType, FrameType, TracebackType

import torch

from fxcore.source.bytecode import operand_offset

_FXCORE = Path(__file__).parents[1]

# The folders of the code that isn't the user's.
_machinery: tuple[str, ...] = (str(Path(torch.__file__).parent) + os.sep, str(_FXCORE) + os.sep)


@dataclass(frozen=True)
class SourceSpan:
    """A range of source text. Lines count from 1; columns are UTF-8 byte offsets from 0; the end is exclusive."""

    file: str
    line: int
    end_line: int
    col: int
    end_col: int


@dataclass(frozen=True)
class Frame:
    """A function that was running, and the expression that it was evaluating."""

    name: str
    span: SourceSpan
    place: Place | None = field(default=None, compare=False, repr=False)
    """The instruction that the function was executing."""


Place = tuple[CodeType, int]
"""A code object and the offset of an instruction in it (a frame's ``f_lasti``), from which a span can be computed."""


def disown(folder: str) -> None:
    """From now on, treat the files in ``folder`` as part of the tracing machinery, not as the user's."""
    global _machinery
    _machinery = (*_machinery, folder + os.sep)
    is_user_file.cache_clear()


@functools.lru_cache(maxsize=1024)
def is_user_file(filename: str) -> bool:
    """Whether a code object's file belongs to the user, rather than to torch, fxcore or a disowned folder."""
    return not filename.startswith(_machinery)


def user_place(
    frame: FrameType | None,
    top: CodeType,
    machinery: Sequence[CodeType] = (),
    calling: CodeType | None = None,
    callers: list[Place | EllipsisType | None] | None = None,
) -> Place | None:
    """The place of the innermost of the user's frames among ``frame`` and its callers; None if there is none.

    The search ends at a frame that runs ``top``, the function that runs the trace: its callers aren't part of the
    trace. Frames that run code in ``machinery`` are skipped.

    With ``calling``, searches remember what they found, because containers such as Sequential put dozens of frames
    between a layer and the user's code. ``callers`` is then a list with one item for each frame that runs ``calling``,
    the innermost last: the result of searching from that frame's caller, or ``...`` until a search gets that far.
    """
    found: Place | None = None
    passed = 0
    while frame is not None:
        code = frame.f_code
        if callers is not None and code is calling:
            passed += 1
            known = callers[-passed]
            if known is not ...:
                found = known
                break
        elif is_user_file(code.co_filename) and code not in machinery:
            found = code, frame.f_lasti
            break
        elif code is top:
            break
        frame = frame.f_back
    if callers is not None and passed:
        callers[-passed:] = [found] * passed
    return found


def traceback_places(traceback: TracebackType | None) -> Iterator[Place]:
    """The place of each frame of a traceback, outermost first."""
    while traceback is not None:
        yield traceback.tb_frame.f_code, traceback.tb_lasti
        traceback = traceback.tb_next


def stack_places(frame: FrameType | None, top: CodeType) -> list[Place]:
    """The places of ``frame`` and its callers up to, but not including, the one that runs ``top``; outermost first."""
    places: list[Place] = []
    while frame is not None and frame.f_code is not top:
        places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return places[::-1]


def user_frames(places: Iterable[Place], machinery: Sequence[CodeType] = ()) -> tuple[Frame, ...]:
    """The user's frames among ``places``, in the same order, except those that run code in ``machinery``."""
    return tuple(
        Frame(getattr(code, "co_qualname", code.co_name), span, (code, lasti))
        for code, lasti in places
        if is_user_file(code.co_filename) and code not in machinery and (span := span_at(code, lasti)) is not None
    )


def span_at(code: CodeType, lasti: int) -> SourceSpan | None:
    """The range of source that the instruction at offset ``lasti`` was compiled from; None if it isn't known."""
    span = _marked_span(code, lasti)
    operand = operand_offset(code, lasti)
    narrower = None if operand is None else _marked_span(code, operand)
    if narrower is None or span is None:
        return span
    return narrower if _within(narrower, span) or _is_behind(narrower, span) else span


def _marked_span(code: CodeType, lasti: int) -> SourceSpan | None:
    line, end_line, col, end_col = _position(code, lasti)
    if line is None:
        return None
    if end_line is None or col is None or end_col is None:
        return _expression_at(code.co_filename, line)
    return SourceSpan(code.co_filename, line, end_line, col, end_col)


def _within(inner: SourceSpan, outer: SourceSpan) -> bool:
    starts = (outer.line, outer.col) <= (inner.line, inner.col)
    return starts and (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)


def _is_behind(one: SourceSpan, other: SourceSpan) -> bool:
    """Whether ``one`` begins where ``other`` has ended.

    In ``a is None or b``, Python 3.11 gives the jump that tests ``b`` the position of the comparison.
    """
    return (other.end_line, other.end_col) <= (one.line, one.col)


def definition_span(code: CodeType) -> SourceSpan | None:
    """The span of the function's name after ``def``; None if it can't be found in the source."""
    for offset, text in enumerate(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]):
        found = re.match(rf"\s*(?:async\s+)?def\s+({re.escape(code.co_name)})\b", text)
        if found:
            line = code.co_firstlineno + offset
            start, end = (len(text[:at].encode()) for at in found.span(1))
            return SourceSpan(code.co_filename, line, line, start, end)
    return None


def return_span(code: CodeType) -> SourceSpan | None:
    """The span of the only ``return`` statement of a function; None if there are several, or none."""
    returns = [at.offset for at in dis.get_instructions(code) if at.opname in ("RETURN_VALUE", "RETURN_CONST")]
    return span_at(code, returns[0]) if len(returns) == 1 else None


@functools.lru_cache(maxsize=4096)  # each look-up has to decode all earlier positions
def _position(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    if hasattr(code, "co_positions"):
        unknown = (None, None, None, None)
        return next(itertools.islice(code.co_positions(), lasti // 2, None), unknown)
    lines = (line for start, end, line in code.co_lines() if start <= lasti < end)
    return next(lines, None), None, None, None


def _expression_at(filename: str, line: int) -> SourceSpan:
    """The span of the expression that begins on a line, or of the line's text; used if only the line is known."""
    lines = linecache.getlines(filename)
    found = _expressions_by_line("".join(lines)).get(line)
    if found is not None and found.end_lineno is not None and found.end_col_offset is not None:
        return SourceSpan(filename, line, found.end_lineno, found.col_offset, found.end_col_offset)
    text = lines[line - 1].rstrip() if line <= len(lines) else ""
    indent = len(text) - len(text.lstrip())
    return SourceSpan(filename, line, line, len(text[:indent].encode()), len(text.encode()))


@functools.lru_cache(maxsize=8)
def _expressions_by_line(source: str) -> dict[int, ast.expr]:
    """For each line, the widest expression that begins on it and isn't assigned to."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    found: dict[int, ast.expr] = {}
    for node in ast.walk(tree):  # parents come before their children, so the first on a line is the widest
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            found.setdefault(node.lineno, node)
    return found
