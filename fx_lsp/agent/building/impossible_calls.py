"""Recognizes code that fails however a class is built: ``super().__init__(size=4)`` if no base takes ``size``."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable
from itertools import dropwhile
from traceback import walk_tb
from types import FrameType, FunctionType, ModuleType

from fx_lsp.agent.inventing.frame_code import tree_of

_REFUSED_CALL = re.compile(
    r"^\S+\(\) (got an unexpected keyword argument|takes .*positional arguments? but \d+|missing \d+ required "
    r"(positional|keyword-only) argument)"
)
"""Python's messages about a call whose arguments do not match the parameters of what is called."""


def fails_for_all_arguments(cls: object, error: BaseException, belongs: Callable[[str], bool]) -> bool:
    """Whether the constructor of ``cls`` raised ``error`` because of its own code, whatever arguments it was given.

    That is so if a call does not fit its callee, or if an installed module has no attribute of a name (``np.float``);
    and if this code, like each call that leads to it, is always run, and each call is always made to the same callee: a
    class or function that the file names, or the base class. ``belongs`` says which files are the program's.
    """
    is_call = isinstance(error, TypeError) and _REFUSED_CALL.match(str(error)) is not None
    module, name = _missing_attribute(error) if isinstance(error, AttributeError) else (None, None)
    if not (is_call or _is_installed(module, belongs)):
        return False
    constructor = getattr(getattr(cls, "__init__", None), "__code__", None)
    steps = list(dropwhile(lambda step: step[0].f_code is not constructor, walk_tb(error.__traceback__)))
    if name is not None and steps and _is_getter(steps[-1][0]):
        steps.pop()
    if not steps:
        return False
    last = [steps.pop()] if name is not None else []
    is_reached = all(_is_always_called(frame, line, belongs) for frame, line in steps)
    return is_reached and all(_is_always_read(frame, line, name, belongs) for frame, line in last)


def _missing_attribute(error: AttributeError) -> tuple[object, str | None]:
    """The module that lacks an attribute, and the attribute's name.

    The error shows neither if the module's own ``__getattr__`` raised it, as NumPy's does for ``np.int``.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if error.name is None and frames and _is_getter(frames[-1]):
        getter = frames[-1]
        return sys.modules.get(getter.f_globals.get("__name__", "")), str(getter.f_locals[getter.f_code.co_varnames[0]])
    return error.obj, error.name


def _is_getter(frame: FrameType) -> bool:
    """Whether ``frame`` runs the ``__getattr__`` of a module."""
    return frame.f_code.co_name == "__getattr__" and frame.f_code.co_argcount == 1


def _is_installed(module: object, belongs: Callable[[str], bool]) -> bool:
    """Whether ``module`` is a Python module that is not the program's own, which may have been imported in part."""
    return type(module) is ModuleType and not belongs(getattr(module, "__file__", None) or "")


def _is_always_called(frame: FrameType, line: int, belongs: Callable[[str], bool]) -> bool:
    """Whether a function's only call at ``line`` is made whenever the function is, always to the same callee."""
    statement = _statement_always_run(frame, line, belongs)
    return statement is not None and _has_one_certain_call(statement, line, frame)


def _is_always_read(frame: FrameType, line: int, name: str | None, belongs: Callable[[str], bool]) -> bool:
    """Whether the attribute ``name`` is read at ``line`` whenever the function is called."""
    statement = _statement_always_run(frame, line, belongs)
    return statement is not None and any(
        isinstance(node, ast.Attribute) and node.attr == name and _has_fixed_callee(node.value, frame)
        for node in ast.walk(statement)
    )


def _statement_always_run(frame: FrameType, line: int, belongs: Callable[[str], bool]) -> ast.stmt | None:
    """The statement at ``line`` of a function of the program, if all of it is run whenever the function is called."""
    tree = tree_of(frame.f_code) if belongs(frame.f_code.co_filename) else None
    function = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(function, ast.FunctionDef) or function.name != frame.f_code.co_name:
        return None
    for statement in function.body:
        if statement.lineno <= line <= (statement.end_lineno or line):
            is_simple = isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return)
            is_certain = is_simple and not any(isinstance(node, _CONDITIONAL) for node in ast.walk(statement))
            return statement if is_certain else None
        if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            return None
    return None


def _has_one_certain_call(statement: ast.stmt, line: int, frame: FrameType) -> bool:
    """Whether ``statement`` makes exactly one call at ``line``, with all arguments written out."""
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
    """Whether ``callee`` is ``super().__init__``, a method of the class, or a name of the file (``nn.Linear``)."""
    match callee:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if (owner := frame.f_locals.get("self")) is not None:
            is_own = name not in getattr(owner, "__dict__", ())
            return is_own and isinstance(inspect.getattr_static(type(owner), name, None), FunctionType)
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
