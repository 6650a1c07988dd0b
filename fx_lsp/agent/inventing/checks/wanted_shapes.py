"""Reads the shapes that a check asks for: ``assert t.shape == (n, 2)``, ``if adj.dim() != 2: raise ValueError``."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

from fx_lsp.agent.frame_code import is_pure, names_in, tree_of, value_of
from fx_lsp.agent.inventing.argument_kinds import WIDTH
from fx_lsp.agent.inventing.checks.failed_checks import LARGEST, checks_at
from fx_lsp.agent.inventing.invented_values import Misused

MOST_DIMENSIONS, MOST_ELEMENTS = 8, 1 << 22
"""How many dimensions and elements an invented tensor may have."""

MOST_WIDE = 3
"""With more dimensions than this, all that no check asks for have a small size."""

_RANKS = frozenset({"dim", "ndimension"})

Shape = tuple[int, ...]


def wanted_shapes(frame: FrameType, line: int, path_of: Callable[[Any], str]) -> Iterator[tuple[str, Shape]]:
    """The paths of invented values whose shape ``line`` of ``frame`` compares, each with a shape to try.

    ``path_of`` returns the path of an invented value, and an empty string for any other value.
    """
    names = names_in(frame, line)
    for test in _tests_at(frame.f_code, line):
        compared = [one for one in ast.walk(test) if isinstance(one, ast.Compare)]
        values = [[_value(side, names) for side in (one.left, *one.comparators)] for one in compared]
        known = [value for row in values for value in row if value is not None]
        for one, row in zip(compared, values, strict=True):
            own = [value for value in row if value is not None]
            for side in (one.left, *one.comparators):
                yield from _wanted(side, own or known, names, path_of)


def _tests_at(code: CodeType, line: int) -> Iterator[ast.expr]:
    """The tests that led to a ``raise`` at a line, and those that are evaluated there, one of which may have failed."""
    yield from (test for check in checks_at(code, line) for test in check.tests)
    for node in ast.walk(tree_of(code) or ast.Pass()):
        if isinstance(node, ast.Assert | ast.If) and node.lineno <= line <= (node.test.end_lineno or line):
            yield node.test


def _value(side: ast.expr, names: dict[str, Any]) -> Any:
    """The value of one side of a comparison: a number, or numbers; None if it has none."""
    with contextlib.suppress(Exception, Misused):
        value = value_of(side, names) if is_pure(side) else None
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if is_number or isinstance(value, list | tuple) else None
    return None


def _wanted(
    asked: ast.expr, values: Sequence[Any], names: dict[str, Any], path_of: Callable[[Any], str]
) -> Iterator[tuple[str, Shape]]:
    """Shapes for the tensor that ``asked`` reads something of, with which that is equal to one of ``values``."""
    with contextlib.suppress(Exception, Misused):
        tensor, index = _tensor_in(asked)
        path = path_of(value_of(tensor, names)) if tensor is not None and is_pure(tensor) else ""
        for shape in (_shape(value, index) for value in values) if path else ():
            if shape and len(shape) <= MOST_DIMENSIONS and min(shape) >= 0 and math.prod(shape) <= MOST_ELEMENTS:
                yield path, shape


def _shape(value: Any, index: int | None) -> Shape:
    """A shape that is ``value``, has that size at ``index``, or has that many dimensions; empty if there is none."""
    if isinstance(value, list | tuple):
        return tuple(int(size) for size in value) if index is None else ()
    if index is None or value > LARGEST:
        return ()
    rank = int(value) if index == _ALL else index + 1
    sides = (WIDTH if rank <= MOST_WIDE else 2,) * min(rank, MOST_DIMENSIONS + 1)
    return sides if index == _ALL else (*sides[:index], int(value))


_ALL = -1
"""The index that stands for the number of dimensions."""


def _tensor_in(asked: ast.expr) -> tuple[ast.expr | None, int | None]:
    """The tensor of which ``asked`` reads the shape (None), the size at an index, or the number of dimensions."""
    match asked:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
            return _tensor_in(inner)
        case (
            ast.Attribute(value=tensor, attr="shape") | ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[])
        ):
            return tensor, None
        case ast.Attribute(value=tensor, attr="ndim"):
            return tensor, _ALL
        case ast.Call(func=ast.Attribute(value=tensor, attr=name)) if name in _RANKS:
            return tensor, _ALL
        case ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(value=tensor, attr="shape")]):
            return tensor, _ALL
        case ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=ast.Constant(value=int(index))):
            return (tensor, index) if index >= 0 else (None, None)
        case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[ast.Constant(value=int(index))]):
            return (tensor, index) if index >= 0 else (None, None)
    return None, None
