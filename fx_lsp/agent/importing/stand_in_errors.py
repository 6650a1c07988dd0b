"""Tells the errors that an import may raise only because of a stand-in, such as a failed ``assert`` about its value.

Nothing needs to be said of them: that a package is missing has been said.
"""

from __future__ import annotations

import ast
import linecache
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

from fx_lsp.agent.importing.script_definitions import defined_names
from fx_lsp.agent.importing.stand_in_modules import StandInModule, names_read
from fx_lsp.agent.importing.stand_ins import StandIn, StandInBase, star_imported
from fx_lsp.agent.importing.unknown_name import UnknownName
from fx_lsp.agent.missing.missing_modules import MissingModule
from fx_lsp.agent.missing.missing_weights import NoWeights
from fx_lsp.agent.own_files import is_own_file
from fx_lsp.agent.traceback_steps import causes

_STAND_INS = (StandIn, StandInModule, StandInBase, UnknownName, MissingModule, NoWeights)


def may_be_due_to_stand_in(error: BaseException) -> bool:
    """Whether code that raised ``error`` read a stand-in, or something that was computed from one.

    What is imported and which names are defined does not depend on stand-ins, unless a missing package defines them.
    """
    if isinstance(error, ImportError | SyntaxError) or (type(error) is NameError and not star_imported):
        return False
    places = [place for cause in causes(error, stated=True) for place in traceback.walk_tb(cause.__traceback__)]
    return any(_reads_stand_in(frame, line) for frame, line in places if not is_own_file(frame.f_code.co_filename))


def _reads_stand_in(frame: FrameType, line: int) -> bool:
    """Whether the code of ``frame``, of a module only the statement at ``line``, reads a stand-in."""
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        statements = []
    if frame.f_locals is not frame.f_globals:
        derived = _derived_names(frame.f_globals, statements)
        return any(map(_holds, frame.f_locals.values())) or not derived.isdisjoint(names_read(frame.f_code))
    before = [one for one in statements if (one.end_lineno or 0) < line]
    derived = _derived_names(frame.f_globals, before)
    return any(_reads(one, derived) for one in statements if _first_line(one) <= line <= (one.end_lineno or 0))


def _derived_names(namespace: Mapping[str, Any], statements: Iterable[ast.stmt]) -> set[str]:
    """The global names of stand-ins, and of what ``statements`` compute from them."""
    names = {name for name, value in namespace.items() if _holds(value)}
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name):
                names |= {name} if any(_reads(one, names) for one in statement.body) else set()
            case ast.ClassDef():  # what its methods read matters only once they fail
                pass
            case _ if _reads(statement, names):
                names |= defined_names([statement])
    return names


def _holds(value: object) -> bool:
    """Whether a value is a stand-in, has one as its base or holds one."""
    if isinstance(value, list | tuple):
        return any(isinstance(item, _STAND_INS) for item in value)
    return issubclass(value, StandInBase) if isinstance(value, type) else isinstance(value, _STAND_INS)


def _reads(statement: ast.stmt, names: set[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in _executed(statement))


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement that run when it does, without the bodies of the functions and classes it defines."""
    yield node
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from _executed(inner)


def _first_line(statement: ast.stmt) -> int:
    """The first line of a statement, which for a definition may be that of a decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
