"""Shapes of which the text tells how many items are wanted, as indices and slices, which are recorded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes import Fix, ReadText, TextChange
from fx_lsp.fixes.source import Source, failing
from fx_lsp.fixes.values import Values

_ITERATING = ("all", "any", "enumerate", "list", "map", "max", "min", "reversed", "sorted", "sum", "zip")


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix where a star takes the rest of a shape, or a loop goes over a part of one that has a known length."""
    found = failing(failure, read)
    if found is None:
        return
    source, node = found
    changes = _unpacked(source, node) or _indexed(source, node)
    if changes:
        yield Fix("Index the shape instead of iterating over it", changes)


def _unpacked(source: Source, node: ast.expr) -> tuple[TextChange, ...]:
    """``b, rest = x.shape[0], x.shape[1:]`` for ``b, *rest = x.shape``."""
    match node, source.parent(node):
        case ast.Tuple(elts=targets), ast.Assign(targets=[target], value=value):
            stars = [at for at, element in enumerate(targets) if isinstance(element, ast.Starred)]
            if target is not node or len(stars) != 1 or not Values(source).is_shape(value):
                return ()
            star, after = targets[stars[0]], len(targets) - stars[0] - 1
            assert isinstance(star, ast.Starred)
            indices = [*range(stars[0]), f"{stars[0] or ''}:{-after or ''}", *range(-after, 0)]
            shape = source.operand(value)
            text = ", ".join(f"{shape}[{index}]" for index in indices)
            return source.replaced(star, source.slice(star.value)), source.replaced(value, text)
    return ()


def _indexed(source: Source, node: ast.expr) -> tuple[TextChange, ...]:
    """``(x.shape[-2], x.shape[-1])`` for ``x.shape[-2:]``, wherever something iterates over that."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _ITERATING:
            iterated = arguments
        case _:
            iterated = [node]
    items = [(argument, Values(source).items(argument)) for argument in iterated]
    return tuple(
        source.replaced(argument, f"({', '.join(parts)}{',' if len(parts) == 1 else ''})")
        for argument, parts in items
        if parts
    )
