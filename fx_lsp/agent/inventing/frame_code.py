"""Reads the code that runs in a frame, and evaluates parts of it again."""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

_PURE = frozenset({"abs", "all", "any", "float", "int", "isinstance", "len", "max", "min", "round", "sum", "type"})
"""Functions that are safe to call when a part of a program is evaluated again."""

_COMBINE = frozenset({"enumerate", "range", "reversed", "zip"})
"""Functions that only put together what a comprehension loops over."""


def tree_of(code: CodeType) -> ast.Module | None:
    """The syntax tree of a function, with the lines of its file; None if its source can't be read."""
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return ast.increment_lineno(tree, first - 1)


def value_of(node: ast.expr, frame: FrameType) -> Any:
    """The value of an expression in ``frame``; None if evaluating it could have an effect. Raises what it raises."""
    return eval(ast.unparse(node), names_in(frame)) if is_pure(node) else None


def is_pure(node: ast.expr) -> bool:
    """Whether evaluating an expression again changes nothing, waits for nothing and computes no huge number."""
    return _is_pure(node, _PURE)


def names_in(frame: FrameType) -> dict[str, Any]:
    """All names that code in ``frame`` sees; in one dict, since a generator expression doesn't see separate locals."""
    names = {**frame.f_globals, **frame.f_locals}
    if sys.version_info >= (3, 12):
        for comprehension in _comprehensions(frame):
            names |= first_values(comprehension, names)
    return names


def _comprehensions(frame: FrameType) -> Iterator[ast.comprehension]:
    """The loops of the list, set and dict comprehensions at the line that ``frame`` has reached.

    Since Python 3.12, these have no frames of their own, and an exception deletes their variables (PEP 709).
    """
    for node in ast.walk(tree_of(frame.f_code) or ast.Pass()):
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp():
                if node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno):
                    yield from node.generators


def first_values(comprehension: ast.comprehension, names: dict[str, Any]) -> dict[str, Any]:
    """The variables of a loop in a comprehension, with the first values that they take; empty if that can't be told."""
    if not _is_pure(comprehension.iter, _PURE | _COMBINE):
        return {}
    variables = [node.id for node in ast.walk(comprehension.target) if isinstance(node, ast.Name)]
    loop = f"for {ast.unparse(comprehension.target)} in {ast.unparse(comprehension.iter)}"
    with contextlib.suppress(Exception):
        return dict(zip(variables, eval(f"next([{', '.join(variables)}] {loop})", dict(names)), strict=True))
    return {}


def _is_pure(node: ast.expr, calls: frozenset[str]) -> bool:
    parts = list(ast.walk(node))
    if sum(isinstance(part, ast.Pow) for part in parts) > 1:
        return False
    for part in parts:
        if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.LShift)):
            return False
        if isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and part.func.id in calls):
            return False
    return True
