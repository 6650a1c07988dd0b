"""Adds a call to ``wrap``, or an import, to a file at the usual place."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.helpers import get_full_name_for_node

from fx_lsp.documents.parse import is_python

_HOMES = ("torch.fx", "fxcore")
"""The modules that provide ``wrap``; the first is imported if the file imports neither."""

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement

_BLANK = cst.EmptyLine(indent=False)


@dataclass(frozen=True)
class Insertion:
    """A file's text with one more call to ``wrap``."""

    call: str
    """The call, as written in the new text."""
    text: str


def wrapping(source: str, name: str) -> Insertion | None:
    """``source`` with ``torch.fx.wrap("name")`` at module level; None if the file wraps ``name`` already.

    The call goes below existing calls to ``wrap``, or else below the imports at the top. The rest of the text, its
    comments and its layout included, does not change. Also None if ``source`` is not valid Python.
    """
    module = _module(source)
    if module is None:
        return None
    body = list(module.body)
    callees = {callee for statement in body for callee in _callees(statement)}
    wraps = [_wrapped(statement, callees) for statement in body]
    if name in wraps:
        return None
    calls = [index for index, wrapped in enumerate(wraps) if wrapped and _call(body[index])]
    call = _insert_below_calls(body, calls, name) if calls else _insert_below_imports(body, name)
    text = module.with_changes(body=body).code
    return Insertion(call, text) if is_python(text) else None


@functools.lru_cache(maxsize=8)
def _module(source: str) -> cst.Module | None:
    """The text as parsed by libcst; None if it is not valid Python."""
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError:
        return None


def _insert_below_calls(body: list[Statement], calls: Sequence[int], name: str) -> str:
    """Put the call below the first group of adjacent ``calls``, written like the last of that group; return it."""
    last = calls[0]
    while last + 1 in calls:
        last += 1
    neighbour = _call(body[last])
    callee = get_full_name_for_node(neighbour.func) if neighbour else None
    call = f'{callee}("{name}")'
    body.insert(last + 1, cst.parse_statement(call))
    return call


def _insert_below_imports(body: list[Statement], name: str) -> str:
    """Put the call below the imports at the top, with blank lines around it; import torch.fx if necessary."""
    end = _end_of_imports(body)
    callee = next((callee for statement in body[:end] for callee in _callees(statement)), None)
    if callee is None:
        callee = f"{_HOMES[0]}.wrap"
        _insert_import(body, end, _HOMES[0])
        end += 1
    call = f'{callee}("{name}")'
    _insert_statement(body, end, call)
    return call


def below_imports(source: str, statement: str) -> str | None:
    """``source`` with a statement below the imports at the top; None if ``source`` is not valid Python."""
    module = _module(source)
    if module is None:
        return None
    body = list(module.body)
    _insert_statement(body, _end_of_imports(body), statement)
    return module.with_changes(body=body).code


def _insert_statement(body: list[Statement], at: int, text: str) -> None:
    """Put a statement at ``at``, with blank lines around it."""
    body.insert(at, cst.parse_statement(text).with_changes(leading_lines=[_BLANK]))
    if at + 1 < len(body):
        body[at + 1] = _below_a_gap(body[at + 1])


def importing(source: str, name: str) -> str | None:
    """``source`` with ``import name`` among the imports at the top; None if ``source`` is not valid Python."""
    module = _module(source)
    if module is None:
        return None
    body = list(module.body)
    end = _end_of_imports(body)
    has_imports = any(_has_import(statement) for statement in body[:end])
    _insert_import(body, end, name)
    if not has_imports and end + 1 < len(body):
        body[end + 1] = _below_a_gap(body[end + 1])
    return module.with_changes(body=body).code


def _insert_import(body: list[Statement], end: int, name: str) -> None:
    """Put ``import name`` among the imports ``body[:end]``: below plain imports of its package, or else last."""
    new = cst.parse_statement(f"import {name}")
    package = name.partition(".")[0]
    plain = [index for index in range(end) if any(found.partition(".")[0] == package for found in _plain(body[index]))]
    at = plain[-1] + 1 if plain else end
    if at == 1 and _is_docstring(body[0]):
        new = new.with_changes(leading_lines=[_BLANK])
    body.insert(at, new)


def _end_of_imports(body: Sequence[Statement]) -> int:
    """The index after the last import, conditional ones included, above the first class or function."""
    end = 1 if body and _is_docstring(body[0]) else 0
    for index, statement in enumerate(body):
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) or _is_main_guard(statement):
            break
        if _has_import(statement):
            end = index + 1
    return end


def _below_a_gap(statement: Statement) -> Statement:
    """``statement`` with the usual number of blank lines above it, if it has none."""
    lines = statement.leading_lines
    if lines and lines[0].comment is None:
        return statement
    due = 2 if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else 1
    return statement.with_changes(leading_lines=[*[_BLANK] * due, *lines])


def _callees(statement: Statement) -> Iterator[str]:
    """How ``wrap`` can be called if ``statement`` always imports it: ``fx.wrap`` after ``from torch import fx``."""
    for local, name in _imported(statement):
        for home in _HOMES:
            if name == f"{home}.wrap":
                yield local
            elif name == home:
                yield f"{local}.wrap"


def _imported(statement: Statement) -> Iterator[tuple[str, str]]:
    """The names that the imports on a line bind, each with the dotted name that it refers to."""
    for node in _small(statement):
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar) and not node.relative:
            module = get_full_name_for_node(node.module) if node.module else None
            for alias in node.names:
                yield alias.evaluated_alias or alias.evaluated_name, f"{module}.{alias.evaluated_name}"
        elif isinstance(node, cst.Import):
            for alias in node.names:
                yield alias.evaluated_alias or alias.evaluated_name, alias.evaluated_name


def _plain(statement: Statement) -> list[str]:
    """The modules that this line imports with ``import module``."""
    imports = [node for node in _small(statement) if isinstance(node, cst.Import)]
    return [alias.evaluated_name for node in imports for alias in node.names]


def _small(statement: cst.BaseStatement) -> Sequence[cst.BaseSmallStatement]:
    return statement.body if isinstance(statement, cst.SimpleStatementLine) else ()


def _has_import(statement: cst.BaseStatement) -> bool:
    """Whether the statement is an import, or an ``if``, a ``try`` or a ``with`` around one."""
    if isinstance(statement, (cst.If, cst.Try, cst.With)):
        return any(_has_import(inner) for inner in statement.body.body if isinstance(inner, cst.BaseStatement))
    return any(isinstance(node, (cst.Import, cst.ImportFrom)) for node in _small(statement))


def _is_main_guard(statement: Statement) -> bool:
    """Whether this is ``if __name__ == "__main__":``, which does not run when the file is imported."""
    match statement:
        case cst.If(test=cst.Comparison(left=cst.Name("__name__"))):
            return True
    return False


def _is_docstring(statement: Statement) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(cst.SimpleString() | cst.ConcatenatedString())]):
            return True
    return False


def _call(statement: Statement) -> cst.Call | None:
    """The call, if the statement consists only of a call."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(cst.Call() as call)]):
            return call
    return None


def _wrapped(statement: Statement, callees: set[str]) -> str | None:
    """The name that a module-level statement already wraps, by a call or by decorating a function."""
    if isinstance(statement, cst.FunctionDef):
        decorators = {get_full_name_for_node(decorator.decorator) for decorator in statement.decorators}
        return None if callees.isdisjoint(decorators) else statement.name.value
    call = _call(statement)
    if call is None or get_full_name_for_node(call.func) not in callees or len(call.args) != 1:
        return None
    argument = call.args[0].value
    return str(argument.evaluated_value) if isinstance(argument, cst.SimpleString) else get_full_name_for_node(argument)
