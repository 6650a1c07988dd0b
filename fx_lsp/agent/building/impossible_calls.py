"""Recognizes calls that fail however a class is built: ``super().__init__(size=4)`` if no base takes ``size``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import dropwhile
from traceback import walk_tb
from types import FrameType

from fx_lsp.agent.inventing.failed_checks import tree_of

_REFUSED_CALL = re.compile(
    r"^\S+\(\) (got an unexpected keyword argument|takes .*positional arguments? but \d+|missing \d+ required "
    r"(positional|keyword-only) argument)"
)
"""Python's messages about a call whose arguments do not match the parameters of what is called."""


def fails_for_all_arguments(cls: object, error: BaseException, belongs: Callable[[str], bool]) -> bool:
    """Whether the constructor of ``cls`` raised ``error`` because of its own code, whatever arguments it was given.

    That is so if a call does not fit its callee, and if this call, like each call that leads to it, is always made and
    always made to the same callee: a class or function that the file names, or the base class. ``belongs`` says which
    files are the program's.
    """
    if not isinstance(error, TypeError) or not _REFUSED_CALL.match(str(error)):
        return False
    constructor = getattr(getattr(cls, "__init__", None), "__code__", None)
    steps = list(dropwhile(lambda step: step[0].f_code is not constructor, walk_tb(error.__traceback__)))
    return bool(steps) and all(_is_always_called(frame, line, belongs) for frame, line in steps)


def _is_always_called(frame: FrameType, line: int, belongs: Callable[[str], bool]) -> bool:
    """Whether a function's only call at ``line`` is made whenever the function is, always to the same callee."""
    tree = tree_of(frame.f_code) if belongs(frame.f_code.co_filename) else None
    function = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(function, ast.FunctionDef) or function.name != frame.f_code.co_name:
        return False
    for statement in function.body:
        if statement.lineno <= line <= (statement.end_lineno or line):
            return isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign) and _has_one_certain_call(
                statement, line, frame
            )
        if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            return False
    return False


def _has_one_certain_call(statement: ast.stmt, line: int, frame: FrameType) -> bool:
    """Whether ``statement`` makes exactly one call at ``line``, in any case and with all arguments written out."""
    if any(isinstance(node, _CONDITIONAL) for node in ast.walk(statement)):
        return False
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and not _is_super(node)]
    at_line = [call for call in calls if call.lineno <= line <= (call.end_lineno or line)]
    if len(at_line) != 1:
        return False
    [call] = at_line
    is_written_out = not any(isinstance(one, ast.Starred) for one in call.args) and all(
        keyword.arg for keyword in call.keywords
    )
    return is_written_out and _has_fixed_callee(call.func, frame)


_CONDITIONAL = (
    *(ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.Await, ast.Yield, ast.YieldFrom),
)


def _has_fixed_callee(callee: ast.expr, frame: FrameType) -> bool:
    """Whether ``callee`` is ``super().__init__`` or a name of the file, such as ``nn.Linear``."""
    match callee:
        case ast.Attribute(value=ast.Call() as call, attr="__init__"):
            return _is_super(call)
        case ast.Attribute(value=value):
            return _has_fixed_callee(value, frame)
        case ast.Name(id=name):
            return name in frame.f_globals and name not in frame.f_locals
    return False


def _is_super(node: ast.expr) -> bool:
    """Whether ``node`` is ``super()`` or ``super(Class, self)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
