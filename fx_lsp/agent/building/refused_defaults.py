"""Recognizes errors of a call without arguments that only show that callers have to pass some: ``config=None``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Mapping
from itertools import dropwhile
from traceback import walk_tb
from types import FrameType
from typing import Any

from fx_lsp.agent.frame_code import tree_of
from fx_lsp.agent.inventing.argument_kinds import is_placeholder
from fx_lsp.agent.inventing.checks.failed_checks import names_in_check
from fx_lsp.agent.inventing.failing_statement import statement_at, used_values


def may_be_for_its_defaults(cls: object, error: BaseException, belongs: Callable[[str], bool]) -> bool:
    """Whether the constructor of ``cls``, called without arguments, may accept others although it raised ``error``.

    That is assumed if the program itself refuses, by a ``raise`` or an ``assert``, what a variable holds; if the
    statement that failed reads a parameter whose default only holds the place of an argument, such as None; and if a
    default lacks an attribute, as a plain dictionary does where the program needs an object of settings. ``belongs``
    says which files are the program's.
    """
    defaults = _defaults(cls)
    constructor = getattr(getattr(cls, "__init__", None), "__code__", None)
    steps = [step for step in walk_tb(error.__traceback__) if belongs(step[0].f_code.co_filename)]
    steps = list(dropwhile(lambda step: step[0].f_code is not constructor, steps))
    if not defaults or not steps:
        return False
    lacks_attribute = isinstance(error, AttributeError) and any(error.obj is one for one in defaults.values())
    open_ones = {name: one for name, one in defaults.items() if one is None or is_placeholder(one)}
    is_refused = _refuses_variable(error, *steps[-1], frozenset(defaults))
    return lacks_attribute or is_refused or any(_reads(frame, line, open_ones) for frame, line in steps)


def _defaults(cls: object) -> dict[str, Any]:
    """The defaults of the parameters of a class."""
    if not isinstance(cls, type):
        return {}
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):  # it has no signature that is known
        return {}
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def _refuses_variable(error: BaseException, frame: FrameType, line: int, parameters: Collection[str]) -> bool:
    """Whether a ``raise`` or an ``assert`` raised ``error`` that reads a variable, or what is named for a parameter."""
    tree = tree_of(frame.f_code)
    statement = None if tree is None else statement_at(tree, line)
    is_failed_check = isinstance(statement, ast.Assert) and isinstance(error, AssertionError)
    if statement is None or not (is_failed_check or isinstance(statement, ast.Raise)):
        return False
    names = [part.id for part in ast.walk(statement) if isinstance(part, ast.Name)]
    return any(name in frame.f_locals or name in parameters for name in (*names, *names_in_check(frame, line)))


def _reads(frame: FrameType, line: int, defaults: Mapping[str, Any]) -> bool:
    """Whether the statement at ``line`` of ``frame`` used one of ``defaults``: as a variable, or as ``self.name``."""
    read = ((source.removeprefix("self."), value) for source, value in used_values(frame, line) if defaults)
    return any(name in defaults and _is_same(value, defaults[name]) for name, value in read)


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and is_placeholder(value))
