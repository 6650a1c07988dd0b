"""Converts what stops ``torch.compile``, and torch's own frame summaries, to a `Failure` and its steps."""

from __future__ import annotations

import contextlib
import io
import linecache
import tokenize
from collections.abc import Iterable
from traceback import FrameSummary

from fx_lsp.agent.capturing.torch_internals import is_graph_break, text_and_frames
from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.agent.traceback_steps import LONGEST_ERROR, describe, is_outside_python, to_span
from fxcore.source.syntax import span_of_syntax


def failure_of(error: BaseException) -> Failure:
    """What stopped torch.compile, with no steps if torch reports none."""
    text, frames = text_and_frames(error)
    if is_graph_break(error):
        return Failure("graph-break", text[:LONGEST_ERROR], steps_of(frames))
    return Failure("compile-error", describe(error), steps_of(frames))


def knows_columns(frames: Iterable[FrameSummary]) -> bool:
    """Whether torch reports which expression of a line the innermost of the user's frames is at."""
    own = [frame for frame in frames if is_outside_python(frame.filename)]
    return bool(own) and getattr(own[-1], "colno", None) is not None


def steps_of(frames: Iterable[FrameSummary]) -> tuple[Step, ...]:
    """The user's own frames as steps."""
    return tuple(Step(frame.name, _span(frame)) for frame in frames if is_outside_python(frame.filename))


def _span(frame: FrameSummary) -> Span:
    """What the frame was executing; before Python 3.11 and torch 2.13 only the line is known."""
    line = frame.lineno or 1
    start, end = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    if start is not None and end is not None:
        found = span_of_syntax(frame.filename, line, start, end)  # torch does not report the last line
        return to_span(found) if found else Span(frame.filename, line, start, line, max(start, end))
    whole = span_of_line(frame.filename, line)
    found = span_of_syntax(frame.filename, line, whole.col, None)  # a break at a condition is the likeliest in its line
    return to_span(found) if found else whole


def span_of_line(file: str, line: int) -> Span:
    """The code of a line, without the space and the comment around it."""
    text = linecache.getline(file, line).rstrip()
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # its brackets may be closed in another line
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        text = next((text[: token.start[1]].rstrip() for token in tokens if token.type == tokenize.COMMENT), text)
    return Span(file, line, len(text) - len(text.lstrip()), line, len(text.encode()))
