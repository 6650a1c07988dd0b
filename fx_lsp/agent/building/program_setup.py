"""Sets up what a program sets up before it builds models: globals, such as the groups of a model-parallel program.

``assert _MODEL_PARALLEL_GROUP is not None`` fails unless a function of the same module was called that sets the global.
A script may give a number a value in each of several cases, ``if args.dataset == "mnist": channels = 1``, of which none
applies where no arguments are given; then the first is taken.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import linecache
import re
from collections.abc import Iterator, Mapping
from traceback import walk_tb
from types import FunctionType
from typing import Any

from fx_lsp.agent.inventing.checks.failed_checks import names_in_check
from fx_lsp.agent.missing.process_group import lacks_process_group, make_process_group
from fx_lsp.agent.traceback_steps import causes

MOST_CALLED = 2
"""How many functions are tried for a global that is None."""

_BEGINS = re.compile(r"^_*(init|set|create|make|build|config|start|register)", re.IGNORECASE)
"""The names of functions that set something up, unlike ``main`` and ``destroy_model_parallel``."""


def set_up(error: BaseException) -> bool:
    """Whether a global could be set for lack of which the program raised ``error``.

    It is a number that its module sets only in some cases, or it is None, a check asks for it, and a function of its
    module sets it. The function gets 1 for each argument that it requires: the size of each of its groups.
    """
    if _took_first_case(error):
        return True
    for name, module in _unset_globals(error):
        for function in _setters(name, module)[:MOST_CALLED]:
            if _is_called(function) and module[name] is not None:
                return True
    return False


def _took_first_case(error: BaseException) -> bool:
    """Whether a global that does not exist now has the first number that a branch of its module gives it."""
    for cause in causes(error):
        for frame, _ in list(walk_tb(cause.__traceback__))[-1:]:
            name = cause.name if type(cause) is NameError else None
            number = None if name is None else _number_in_branch(name, frame.f_code.co_filename)
            if name is not None and number is not None:
                frame.f_globals[name] = number
                return True
    return False


def _number_in_branch(name: str, file: str) -> int | float | None:
    """The first number that the branches of an ``if`` in a file assign to the global ``name``; None if none does."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.parse("".join(linecache.getlines(file)))
        open_ones: list[ast.AST] = [statement for statement in tree.body if isinstance(statement, ast.If)]
        for node in open_ones:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):  # with names of their own
                open_ones += ast.iter_child_nodes(node)
            match node:
                case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Constant(value=int() | float() as number)):
                    if bound == name and not isinstance(number, bool):
                        return number
    return None


def _unset_globals(error: BaseException) -> Iterator[tuple[str, dict[str, Any]]]:
    """The globals of the failed check that are None, each with the module's namespace."""
    for cause in causes(error):
        for frame, line in list(walk_tb(cause.__traceback__))[-1:]:
            names = names_in_check(frame, line) if isinstance(cause, AssertionError | RuntimeError) else []
            yield from ((name, frame.f_globals) for name in names if frame.f_globals.get(name, frame) is None)


def _setters(name: str, module: Mapping[str, Any]) -> list[FunctionType]:
    """The functions of a module that set its global ``name``, those that set most globals first."""
    own = [value for value in module.values() if isinstance(value, FunctionType) and value.__globals__ is module]
    stored = {function: _globals_stored(function) for function in own if _BEGINS.match(function.__name__)}
    return sorted((each for each, names in stored.items() if name in names), key=lambda each: -len(stored[each]))


def _globals_stored(function: FunctionType) -> set[str]:
    return {one.argval for one in dis.get_instructions(function) if one.opname == "STORE_GLOBAL"}


def _is_called(function: FunctionType) -> bool:
    """Whether the function could be called, if necessary with a process group."""
    parameters = inspect.signature(function).parameters.values()
    required = [one for one in parameters if one.default is one.empty and one.kind not in _VARIADIC]
    arguments = {one.name: 1 for one in required if one.kind is not one.POSITIONAL_ONLY}
    try:
        try:
            function(**arguments)
        except Exception as error:
            if not (lacks_process_group(error) or isinstance(error, AssertionError)):
                raise
            make_process_group()
            function(**arguments)
    except Exception:
        return False
    return True


_VARIADIC = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
