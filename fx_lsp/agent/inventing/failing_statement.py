"""Finds which values a failing statement used, directly or through variables that were computed from them.

An error does not say which argument caused it, but most arguments have no part in the statement that raised it.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import Any

from fx_lsp.agent.frame_code import names_in, tree_of, value_of
from fx_lsp.agent.inventing.checks.failed_checks import PARTS


def used_values(frame: FrameType, line: int) -> Iterator[tuple[str, Any]]:
    """What the statement at ``line`` of ``frame`` read: each variable, attribute or item as text, with its value.

    After those come the values that were assigned, in the same function, to something that it reads.
    """
    tree = tree_of(frame.f_code)
    statement = None if tree is None else statement_at(tree, line)
    if tree is None or statement is None:
        return
    assigned, names = _assigned(tree), names_in(frame, line)
    waiting = deque(_header(statement))
    seen = set()
    while waiting:
        for part in _parts_of(waiting.popleft()):
            source = ast.unparse(part)
            if source not in seen:
                seen.add(source)
                waiting.extend(assigned.get(source, ()))
                yield from _evaluated(part, names)


def sequence_values(frame: FrameType, line: int) -> Iterator[tuple[str, Any]]:
    """What the statement at ``line`` of ``frame`` read, as `used_values` returns it, where it needs a sequence."""
    tree = tree_of(frame.f_code)
    statement = None if tree is None else statement_at(tree, line)
    names = names_in(frame, line)
    for header in _header(statement) if statement else []:
        for sequence in _sequences(header):
            for part in _parts_of(sequence):
                yield from _evaluated(part, names)
    if isinstance(statement, ast.For):
        for part in _parts_of(statement.iter):
            yield from _evaluated(part, names)


def names_acted_on(frame: FrameType, line: int) -> list[str]:
    """The variables that the statement at ``line`` of ``frame`` calls, or of which it takes an attribute or an item."""
    tree = tree_of(frame.f_code)
    statement = None if tree is None else statement_at(tree, line)
    names = []
    for part in (part for header in (_header(statement) if statement else []) for part in ast.walk(header)):
        match part:
            case ast.Call(func=ast.Name(id=name)) | ast.Attribute(ast.Name(id=name)) | ast.Subscript(ast.Name(id=name)):
                names.append(name)
    return names


def names_called(frame: FrameType, line: int) -> list[str]:
    """What the statement at ``line`` of ``frame`` calls, as text: ``["torch.zeros", "len"]``."""
    tree = tree_of(frame.f_code)
    statement = None if tree is None else statement_at(tree, line)
    parts = [part for header in (_header(statement) if statement else []) for part in ast.walk(header)]
    return [ast.unparse(part.func) for part in parts if isinstance(part, ast.Call)]


def _sequences(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions in ``node`` that have to be sequences."""
    for inner in ast.walk(node):
        match inner:
            case ast.comprehension(iter=value) | ast.Starred(value=value) | ast.Subscript(value=value):
                yield value
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in _OF_SEQUENCES:
                yield from arguments


_OF_SEQUENCES = frozenset({"all", "any", "enumerate", "len", "list", "map", "set", "sorted", "sum", "tuple", "zip"})
"""Functions that take sequences."""


def _parts_of(node: ast.AST) -> Iterator[ast.Name | ast.Attribute | ast.Subscript]:
    """The variables, attributes and items in an expression."""
    return (part for part in ast.walk(node) if isinstance(part, PARTS))


def _evaluated(part: ast.expr, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """An expression as text, and its value, given the ``names`` that it sees; nothing if it has no value any more."""
    try:
        yield ast.unparse(part), value_of(part, names)
    except BaseException:  # an invented value may raise `Misused`, which is not an Exception
        return


def statement_at(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that includes ``line``."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            found = node  # `ast.walk` visits what is inside a node after the node
    return found


def _header(statement: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that are not statements themselves."""
    return [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.expr | ast.withitem)]


def _assigned(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What is assigned to each variable or attribute in a function, including what loops assign."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                targets = [target]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                targets = [target]
            case _:
                continue
        for part in (part for target in targets for part in _parts_of(target)):
            if isinstance(part.ctx, ast.Store):  # not `self` in `self.width = …`
                found.setdefault(ast.unparse(part), []).append(value)
    return found
