"""Which lines a program comes by: what no input reaches proves nothing about an edit there."""

from __future__ import annotations

import ast
import contextlib
import difflib
import sys
from collections.abc import Collection, Iterator
from types import FrameType
from typing import Any

from .imports import lines_of

Lines = tuple[str, range]
"""Lines of a file, of which one at least is to be run."""


@contextlib.contextmanager
def lines_run(files: Collection[str], seen: set[tuple[str, int]]) -> Iterator[None]:
    """Within the block, add to ``seen`` the lines of ``files`` that are run."""

    def in_function(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return in_function

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return in_function if frame.f_code.co_filename in files else None

    if files:
        sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(None)


def unreached(watched: Collection[Lines], seen: Collection[tuple[str, int]]) -> tuple[Lines, ...]:
    """Those of ``watched`` of which no line was ``seen``."""
    return tuple((file, lines) for file, lines in watched if not any((file, line) in seen for line in lines))


def replaced_lines(file: str, old: str, new: str) -> list[Lines]:
    """The statements of functions in ``old`` that are not in ``new``, but for what only raises.

    Of a compound statement the head counts alone: what is in it are statements of their own.
    """
    matcher = difflib.SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False)
    opcodes = [(start, end) for kind, start, end, _, _ in matcher.get_opcodes() if kind != "equal"]
    gone = {line + 1 for start, end in opcodes for line in range(start, end)}
    functions = [node for node in ast.walk(ast.parse(old)) if isinstance(node, ast.FunctionDef)]
    statements = {node for function in functions for part in function.body for node in ast.walk(part) if _is_run(node)}
    heads = [_head(node) for node in statements if isinstance(node, ast.stmt)]
    return [(file, head) for head in heads if not gone.isdisjoint(head)]


def _is_run(node: ast.AST) -> bool:
    """Whether it is a statement that a program comes by when it raises nothing."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    never = ast.Raise | ast.Pass | ast.Global | ast.Nonlocal | ast.Try
    return isinstance(node, ast.stmt) and not isinstance(node, never)


def _head(node: ast.stmt) -> range:
    body = getattr(node, "body", None)
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    return range(node.lineno, last + 1)
