"""Finds the inputs that the line that fails is about, from the text of the program."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any

from fx_lsp.agent.frame_code import tree_of


def failing_inputs(error: BaseException, function: Callable[..., Any]) -> frozenset[str]:
    """The parameters of ``function`` from which the values on its line that raised ``error`` are made.

    Empty if its text is not known.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code is code]
    if code is None or not lines:
        return frozenset()
    statements = _simple_statements(code)
    names = {name for one in statements if _covers(one, lines[-1]) for name in _names(one)}
    for statement in reversed([one for one in statements if one.lineno < lines[-1]]):
        if isinstance(statement, ast.Assign) and names & {*itertools.chain(*map(_names, statement.targets))}:
            names |= _names(statement.value)
    return frozenset(names.intersection(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]))


@functools.lru_cache(maxsize=16)
def _simple_statements(code: CodeType) -> list[ast.stmt]:
    """The statements in the order of the text, without those that contain others; none if the text is not known."""
    tree = tree_of(code) or ast.Module([], [])
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return sorted((one for one in statements if not hasattr(one, "body")), key=lambda statement: statement.lineno)


def _covers(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or line)


def _names(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
