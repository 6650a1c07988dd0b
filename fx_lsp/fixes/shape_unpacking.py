"""Replace iteration over a shape with indices and slices, which are recorded, if the number of items is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression, tuple_text
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.shape_star import with_added_sizes
from fx_lsp.fixes.size_tuple import takes_sizes

_ITERATING = ("all", "any", "enumerate", "list", "map", "max", "min", "reversed", "sorted", "sum", "zip")


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if names are assigned a shape and other values, or if code iterates over a known number of sizes."""
    changes = _assigned(source, node) or _unpacked(source, node) or _indexed(source, node)
    if changes:
        yield Fix("Index the shape instead of iterating over it", changes)


def _assigned(source: Source, node: ast.expr) -> tuple[TextChange, ...]:
    """``b, n, heads = x.shape[0], x.shape[1], self.heads`` for ``b, n, heads = *x.shape, self.heads``."""
    match source.parent(node):
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values) as value) if value is node:
            given = _with_one_star(values)
            is_of_names = not any(isinstance(target, ast.Starred) for target in targets)
            if given is None or not is_of_names or not Values(source).is_shape(given.star.value):
                return ()
            shape = source.operand(given.star.value)
            sizes = [f"{shape}[{at}]" for at in range(len(targets) - len(values) + 1)]
            items = [*map(source.slice, given.before), *sizes, *map(source.slice, given.after)]
            return (source.replaced(value, ", ".join(items)),)
    return ()


def _unpacked(source: Source, node: ast.expr) -> tuple[TextChange, ...]:
    """``b, rest = x.shape[0], x.shape[1:]`` for ``b, *rest = x.shape``."""
    match source.parent(node):
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            given = _with_one_star(value.elts if isinstance(value, ast.Tuple) else [ast.Starred(value)])
            wanted = _with_one_star(targets)
            if wanted is None or given is None or not Values(source).is_shape(given.star.value):
                return ()
            first, last = len(wanted.before) - len(given.before), len(wanted.after) - len(given.after)
            if first < 0 or last < 0:  # the starred name takes more than a part of the shape
                return ()
            indices = [*range(first), f"{first or ''}:{-last or ''}", *range(-last, 0)]
            shape = source.operand(given.star.value)
            items = [f"{shape}[{index}]" for index in indices]
            items = [*map(source.slice, given.before), *items, *map(source.slice, given.after)]
            star = wanted.star
            changes = source.replaced(star, source.slice(star.value)), source.replaced(value, ", ".join(items))
            return *changes, *_passed_on(source, node, source.slice(star.value))
    return ()


def _passed_on(source: Source, node: ast.expr, name: str) -> Iterator[TextChange]:
    """``x.reshape((b, c) + rest)`` for ``x.reshape(b, c, *rest)``, where ``name`` is ``rest``."""
    for call in ast.walk(source.function(node) or node):
        if isinstance(call, ast.Call) and takes_sizes(source, call):
            is_rest = any(isinstance(one, ast.Starred) and source.slice(one.value) == name for one in call.args)
            change = with_added_sizes(source, call, lambda part: source.slice(part) == name) if is_rest else None
            if change is not None:
                yield change


@dataclass(frozen=True)
class _Starred:
    """The items of a tuple, exactly one of which is starred."""

    before: Sequence[ast.expr]
    star: ast.Starred
    after: Sequence[ast.expr]


def _with_one_star(items: Sequence[ast.expr]) -> _Starred | None:
    """``items`` split at the starred item; None unless exactly one item is starred."""
    stars = [(at, item) for at, item in enumerate(items) if isinstance(item, ast.Starred)]
    if len(stars) != 1:
        return None
    ((at, star),) = stars
    return _Starred(items[:at], star, items[at + 1 :])


def _indexed(source: Source, node: ast.expr) -> tuple[TextChange, ...]:
    """List the sizes that code iterates over: ``(x.shape[-2], x.shape[-1])`` for ``x.shape[-2:]``."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _ITERATING:
            iterated = arguments
        case _:
            iterated = [node]
    items = [(argument, Values(source).items(argument)) for argument in iterated]
    return tuple(source.replaced(argument, tuple_text(parts)) for argument, parts in items if parts)
