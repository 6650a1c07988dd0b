"""The syntax of the program's text at a place."""

from __future__ import annotations

import ast
import functools
import linecache

from fxcore.source import Place, SourceSpan, span_at


def call_at(place: Place, name: str) -> ast.Call | None:
    """The call of ``name(…)`` that runs at a place; None where there is none, or no text."""
    span = span_at(*place)
    if span is None:
        return None
    try:
        tree = ast.parse(f"({_text(span)})", mode="eval")
    except (SyntaxError, ValueError):
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return next((call for call in calls if _last_name(call.func) == name), None)


def statement_at(place: Place) -> ast.stmt | None:
    """The innermost statement around a place; None where its text isn't to be had."""
    span = span_at(*place)
    found: ast.stmt | None = None
    for statement in _statements("".join(linecache.getlines(span.file))) if span else ():
        if span and statement.lineno <= span.line and span.end_line <= (statement.end_lineno or 0):
            found = statement  # outer ones come first
    return found


def _text(span: SourceSpan) -> str:
    lines = [line.encode() for line in linecache.getlines(span.file)[span.line - 1 : span.end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_col]
    lines[0] = lines[0][span.col :]
    return b"".join(lines).decode()


def _last_name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


@functools.lru_cache(maxsize=8)
def _statements(source: str) -> tuple[ast.stmt, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))
