"""Records which code a program runs: if no input reaches an edit, nothing is proven about the edit.

Statements are identified by their lines, and the two sides of a conditional expression by the instructions that are run
(Python 3.11 and later record the position of each). No input is required to skip an ``if`` that has no ``else``.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from fx_lsp.agent.importing.workspace_importer import lines_of

Seen = set[tuple[str, int, int]]
"""The file, line and column (UTF-8 bytes, from 0) of instructions that were run; for a line, the column is `LINE`."""

LINE = -1

Ends = tuple[tuple[int, int], tuple[int, int]]
"""Line and column where something begins, and where it ends."""


@dataclass(frozen=True)
class Part:
    """Lines of a file, at least one of which should be run, or an expression in these lines."""

    file: str
    lines: range
    expression: Ends | None = None
    is_moved: bool = False
    """Whether the edit moves this part as it is, with the ``if`` that it belongs to: no input has to reach it."""

    def is_in(self, seen: Seen) -> bool:
        """Whether this part was run."""
        if self.expression is None:
            return any((self.file, line, LINE) in seen for line in self.lines)
        start, end = self.expression
        return any(file == self.file and col != LINE and start <= (line, col) < end for file, line, col in seen)


@contextlib.contextmanager
def recording_lines(parts: Collection[Part], seen: Seen) -> Iterator[None]:
    """Within the block, add to ``seen`` what is run in the files of ``parts``."""
    files = {part.file for part in parts}
    fine = {(part.file, line) for part in parts if part.expression for line in part.lines}

    def in_function(frame: FrameType, event: str, argument: Any) -> Any:
        code, line = frame.f_code, frame.f_lineno
        if event == "line":
            seen.add((code.co_filename, line, LINE))
            frame.f_trace_opcodes = (code.co_filename, line) in fine
        elif event == "opcode" and (place := _place(code, frame.f_lasti)):
            seen.add((code.co_filename, *place))
        return in_function

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return in_function if frame.f_code.co_filename in files else None

    if parts:
        sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(None)


@functools.cache
def _place(code: CodeType, offset: int) -> tuple[int, int] | None:
    """The line and column of an instruction."""
    line, _, col, _ = list(code.co_positions())[offset // 2]  # type: ignore[attr-defined]
    return None if line is None or col is None else (line, col)


def parts_not_run(parts: Collection[Part], seen: Seen) -> tuple[Part, ...]:
    """The ``parts`` that were not run."""
    return tuple(part for part in parts if not part.is_in(seen))


def replaced_parts(file: str, old: str, new: str) -> list[Part]:
    """The statements of functions in ``old`` that are not in ``new``, except for those that lead to a ``raise``.

    Only the head of a compound statement counts, since the statements in it count separately. Both sides of a
    conditional expression that is not in ``new`` count. Statements in an ``if`` that is in ``new`` are moved.
    """
    matcher = difflib.SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False)
    opcodes = [(start, end) for kind, start, end, _, _ in matcher.get_opcodes() if kind != "equal"]
    gone = {line + 1 for start, end in opcodes for line in range(start, end)}
    functions = [node for node in ast.walk(ast.parse(old)) if isinstance(node, ast.FunctionDef)]
    inner = {node for function in functions for node in _run_through(function.body)}
    kept = {ast.dump(node) for node in ast.walk(_parsed(new)) if isinstance(node, ast.If)}
    branches = [node for node in inner if isinstance(node, ast.If) and ast.dump(node) in kept]
    moved = {inside for branch in branches for inside in ast.walk(branch) if inside is not branch}
    statements = [node for node in inner if isinstance(node, ast.stmt) and _is_run(node)]
    heads = [Part(file, _head(node), is_moved=node in moved) for node in statements]
    return [part for part in (*heads, *_sides(file, inner, new)) if not gone.isdisjoint(part.lines)]


def parts_of_branch(file: str, text: str, line: int, col: int) -> list[Part]:
    """The statements in both sides of the ``if`` whose condition has an expression that begins at ``line`` and ``col``.

    An edit may move them as they are, so that their lines count as neither old nor new.
    """
    parts: list[Part] = []
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.If) and any(_begins_at(inner, line, col) for inner in ast.walk(node.test)):
            inner = [*_run_through(node.body), *_run_through(node.orelse)]
            parts += [Part(file, _head(part)) for part in inner if isinstance(part, ast.stmt) and _is_run(part)]
    return parts


def _begins_at(node: ast.AST, line: int, col: int) -> bool:
    return isinstance(node, ast.expr) and (node.lineno, node.col_offset) == (line, col)


def _run_through(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of the statements, except for blocks that end with a ``raise``."""
    if statements and isinstance(statements[-1], ast.Raise):
        return
    for node in statements:
        waiting: list[ast.AST] = [node]
        while waiting:
            yield (inner := waiting.pop())
            for _, value in ast.iter_fields(inner):
                parts = value if isinstance(value, list) else [value]
                if parts and isinstance(parts[0], ast.stmt):
                    yield from _run_through(parts)
                else:
                    waiting += [part for part in parts if isinstance(part, ast.AST)]


def _sides(file: str, nodes: Collection[ast.AST], new: str) -> Iterator[Part]:
    """Both sides of the conditional expressions among ``nodes`` that are not in ``new``."""
    if not hasattr(CodeType, "co_positions"):  # Python 3.10
        return
    kept = {ast.dump(node) for node in ast.walk(_parsed(new)) if isinstance(node, ast.IfExp)}
    for node in nodes:
        if isinstance(node, ast.IfExp) and ast.dump(node) not in kept:
            for side in (node.body, node.orelse):
                last = side.end_lineno or side.lineno
                ends = (side.lineno, side.col_offset), (last, side.end_col_offset or side.col_offset)
                yield Part(file, range(side.lineno, last + 1), ends)


def _parsed(text: str) -> ast.Module:
    """The tree of ``text``; an empty tree if it is not valid Python, which the import will report."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _is_run(node: ast.stmt) -> bool:
    """Whether the interpreter executes the statement."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return not isinstance(node, ast.Pass | ast.Global | ast.Nonlocal | ast.Try)


def _head(node: ast.stmt) -> range:
    body = getattr(node, "body", None)
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    return range(node.lineno, last + 1)
