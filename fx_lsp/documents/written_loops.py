"""The values that a loop's variables have in its first turn, if the text shows them: ``for width in (8, 16):``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.documents.parametrized_tests import by_position, first_of

_COMBINE = frozenset({"enumerate", "product", "reversed", "sorted", "zip"})
"""Functions that only put together what a loop goes over; a ``range`` begins with a number that suits few models."""

_OF_DICTS = frozenset({"items", "keys", "values"})


def first_turn(loop: ast.For) -> Iterator[tuple[str, ast.expr]]:
    """The variables of a loop over something written out, or a name for it, each with its value in the first turn.

    Nothing if the loop may leave out turns, or parts of them: the first may be one of these.
    """
    if not (isinstance(loop.iter, ast.Name) or _is_written(loop.iter)) or _leaves_out(loop):
        return
    first = first_of(loop.iter)
    match loop.target:
        case ast.Name(id=name):
            yield name, first
        case ast.Tuple(elts=targets) if len(targets) > 1 and all(isinstance(one, ast.Name) for one in targets):
            yield from by_position([one.id for one in targets if isinstance(one, ast.Name)], first)


def _leaves_out(loop: ast.For) -> bool:
    """Whether the body skips the rest of a turn, or decides by the variables what to do."""
    variables = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for node in (node for statement in loop.body for node in ast.walk(statement)):
        match node:
            case ast.Continue():
                return True
            case ast.If(test=decides) | ast.While(test=decides) | ast.Match(subject=decides):
                if any(isinstance(part, ast.Name) and part.id in variables for part in ast.walk(decides)):
                    return True
    return False


def _is_written(node: ast.expr) -> bool:
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return bool(items) and not isinstance(items[0], ast.Starred)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments) if name in _COMBINE:
            return all(isinstance(one, ast.Constant | ast.Name) or _is_written(one) for one in arguments)
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr=name), args=[], keywords=[]):
            return name in _OF_DICTS
    return False
