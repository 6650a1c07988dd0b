"""Which failures to believe: those that would be there however the module is built."""

from __future__ import annotations

import ast
import inspect
import textwrap
import traceback
from types import CodeType
from typing import Any

from fxcore.failures import FailureKind, TraceFailure
from fxcore.node import Node
from fxcore.proxy import Proxy

from .build import Built
from .made_up import MadeUp
from .messages import Intent
from .places import Belongs, causes
from .stubs import Stub, shaped, touched
from .weights import NoWeights, are_missing


def missing_part(root: object = None, error: BaseException | None = None) -> str | None:
    """Why nothing is known of ``root``: what is missing had a part in it. None where nothing had.

    ``error`` is what its build or its trace ended in.
    """
    name = touched() or shaped(root) or _handled(error)
    return None if name is None else f"`{name}` had a part in it, which is missing"


def _handled(error: BaseException | None) -> str | None:
    """The name of a stub that one of the functions had at hand by which ``error`` came."""
    for cause in causes(error, stated=True):
        for frame, _ in traceback.walk_tb(cause.__traceback__):
            for value in frame.f_locals.values():
                if isinstance(value, Stub | NoWeights) and frame.f_locals is not frame.f_globals:
                    return repr(value)
    return None


def doubt(error: BaseException, built: Built, intent: Intent, belongs: Belongs) -> str | None:
    """Why a trace that ended in ``error`` says nothing of the program; None where it does.

    What a traced value refused, it refuses however the module was built, and what a library refused that it was handed
    to. What the program itself raised may owe itself to arguments that were made up for it, or to weights that it asked
    for parts to build, unless a name is not defined. ``belongs`` says which files are the program's.
    """
    cause = error.__cause__ or error
    raised_by_program = not isinstance(error, TraceFailure) or error.kind is FailureKind.EXCEPTION
    if raised_by_program and intent != "explicit" and _is_left_to_subclasses(cause, built.root):
        return "it leaves something to its subclasses"
    if not built.recipe.made_up and not are_missing():
        return None
    is_certain = isinstance(cause, NameError) or _refused_by_library(cause, belongs) or _refuses_symbols(cause, belongs)
    if raised_by_program and not is_certain:
        blamed = "the arguments that were made up for it" if built.recipe.made_up else "weights that can't be had here"
        return f"it raises {type(cause).__name__}, to which {blamed} may be to blame"
    if isinstance(error, TraceFailure) and error.kind is FailureKind.NOT_A_SUBMODULE and MadeUp.__name__ in str(error):
        return "it calls a module that was made up for it, and another one it might hold as its own"
    if isinstance(error, TraceFailure) and _comes_from_made_up(error.node, built.root):
        return "it depends on what a module returns that was made up for it"
    return None


def _is_left_to_subclasses(error: BaseException, root: Any) -> bool:
    return isinstance(error, NotImplementedError | AttributeError) and bool(type(root).__subclasses__())


def _refused_by_library(error: BaseException, belongs: Belongs) -> bool:
    """Whether it was raised by a library that the program had handed a traced value to."""
    handed = False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if belongs(frame.f_code.co_filename):
            handed = False
        elif name not in ("torch", "fxcore", "fx_lsp"):
            handed = handed or any(map(_has_proxy, frame.f_locals.values()))
    return handed


def _has_proxy(value: object) -> bool:
    """Whether it is a traced value, or a few values with one among them: ``*args``, ``**kwargs``."""
    if type(value) in (list, tuple, dict):
        items = value.values() if isinstance(value, dict) else value
        return any(isinstance(item, Proxy) for item in items)  # type: ignore[attr-defined]
    return isinstance(value, Proxy)


def _refuses_symbols(error: BaseException, belongs: Belongs) -> bool:
    """Whether the program raised it because it was handed a traced value: where it had nothing else, or asked that."""
    *_, (frame, line) = [(None, 0), *traceback.walk_tb(error.__traceback__)]
    if frame is None or not belongs(frame.f_code.co_filename):
        return False
    code, names = frame.f_code, frame.f_locals
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    is_open = bool(code.co_freevars or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    asked = [] if is_open else [set(given)]
    asked += [{name for name in _names_in(test) if name in names} for test in _tests_around(code, line)]
    return any(group and all(isinstance(names.get(name), Proxy) for name in group) for group in asked)


def _tests_around(code: CodeType, line: int) -> list[ast.expr]:
    """What decided that the ``raise`` of a line is run: the test of the ``if`` whose branch it is in."""
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return []
    ast.increment_lineno(tree, first - 1)
    branches = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    return [
        node.test
        for node in branches
        for statement in node.body
        if isinstance(statement, ast.Raise) and statement.lineno <= line <= (statement.end_lineno or line)
    ]


def _names_in(node: ast.AST) -> set[str]:
    """The names in an expression."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _comes_from_made_up(node: Node | None, root: Any) -> bool:
    """Whether the value is what a made-up module returned, or an item of that."""
    while node is not None and node.op == "call_function" and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node is not None and node.op == "call_module" and isinstance(root.get_submodule(str(node.target)), MadeUp)
