"""Index the items of a traced value that a loop takes together with modules: as many as there are modules.

While tracing, the number of modules is known, but not the number of items in a list that is an input, or in what
``torch.split`` returns. A list that is an input may be shorter, for which such a loop makes fewer turns, unless the
program checks its length.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.torch_assert import raises


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix for ``zip(self.layers, x)``, for ``enumerate(x)`` and for ``range(len(x))``.

    In the latter two, the loop must index an attribute of ``self`` by its variable.
    """
    if isinstance(node, ast.Call) and any(_may_be_shorter(source, one) for one in node.args if not _is_of_self(one)):
        return
    match node:
        case ast.Call(func=ast.Name(id="zip"), args=arguments, keywords=[]):
            known = next(filter(_is_of_self, arguments), None)
            items = [argument for argument in arguments if not _is_of_self(argument)]
            if known is not None and not any(isinstance(one, ast.Starred | ast.Constant) for one in items):
                yield _by_index(source, known, items)
        case ast.Call(func=ast.Name(id="enumerate"), args=[items], keywords=[]):
            if known := _indexed(source, node, is_pair=True):
                yield _by_index(source, known, [items])
        case ast.Call(func=ast.Name(id="len"), args=[items], keywords=[]):
            if known := _indexed(source, source.parent(node), is_pair=False):
                count = source.slice(known)
                yield Fix(f"Count the items of {count} instead", (source.replaced(items, count),))


def _by_index(source: Source, known: ast.expr, items: list[ast.expr]) -> Fix:
    count = source.slice(known)
    changes = tuple(_listed(source, each, count) for each in items)
    return Fix(f"Index as many items as {count} has", changes)


def _listed(source: Source, items: ast.expr, count: str) -> TextChange:
    """The change that lists the first of ``items``, which are computed once."""
    index, name = source.unused("index"), source.unused("items")
    is_name = isinstance(items, ast.Name | ast.Attribute)
    each = source.slice(items) if is_name else name
    once = "" if is_name else f" for {name} in [{source.slice(items)}]"
    return source.replaced(items, f"[{each}[{index}]{once} for {index} in range(len({count}))]")


def _may_be_shorter(source: Source, items: ast.expr) -> bool:
    """Whether the caller decides how many ``items`` there are, and the function does not check that number."""
    function, name = source.function(items), _root(items)
    if function is None or name not in {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}:
        return False
    return not any(_checks_length(part, name) for part in ast.walk(function))


def _checks_length(part: ast.AST, name: str) -> bool:
    """Whether ``part`` raises an error unless ``name``, or a part of it, has the right length."""
    match part:
        case ast.Assert(test=test) | ast.Call(func=ast.Attribute(attr="_assert"), args=[test, *_]):
            pass
        case ast.If(test=test, body=body) if raises(body):
            pass
        case _:
            return False
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            return any(_is_length(side, name) for side in (left, right))
    return False


def _is_length(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[items]):
            return _root(items) == name
    return False


def _root(items: ast.expr) -> str:
    """The name that ``items`` are a part of; empty if they are what a call returns."""
    while isinstance(items, ast.Subscript | ast.Attribute):
        items = items.value
    return items.id if isinstance(items, ast.Name) else ""


def _is_of_self(node: ast.expr) -> bool:
    """Whether ``node`` is an attribute of ``self``, or a slice of one."""
    match node:
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _is_of_self(value)
        case ast.Attribute(value=ast.Name(id="self")):
            return True
    return False


def _indexed(source: Source, turns: ast.AST, *, is_pair: bool) -> ast.expr | None:
    """The attribute of ``self`` that a loop over ``turns`` indexes by its variable, the first of two if ``is_pair``.

    Without ``is_pair``, ``turns`` must be a ``range`` of one argument.
    """
    loop = source.parent(turns)
    if not isinstance(loop, ast.For | ast.comprehension) or loop.iter is not turns:
        return None
    match loop.target, turns:
        case ast.Tuple(elts=[ast.Name(id=index), _]), _ if is_pair:
            pass
        case ast.Name(id=index), ast.Call(func=ast.Name(id="range"), args=[_], keywords=[]) if not is_pair:
            pass
        case _:
            return None
    for part in ast.walk(source.parent(loop) if isinstance(loop, ast.comprehension) else loop):
        match part:
            case ast.Subscript(value=value, slice=ast.Name(id=name)) if name == index and _is_of_self(value):
                return value
    return None
