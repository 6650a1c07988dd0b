"""Replace a starred shape with a sum of tuples, which is recorded: ``s + (-1, n)`` for ``(*s, -1, n)``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression, tuple_text
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.size_tuple import takes_sizes

_TITLE = "Add the tuples instead of unpacking the shape"


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if a starred shape failed in a list or tuple, or among the sizes that a call takes."""
    change = _change(source, node)
    if change is not None:
        yield Fix(_TITLE, (change, *_uses(source, node)))


def _uses(source: Source, node: ast.expr) -> Iterator[TextChange]:
    """If calls unpack the name that ``node`` is assigned to, pass the name itself: a traced sum cannot be unpacked."""
    match source.parent(node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            for call in ast.walk(source.function(node) or node):
                match call:
                    case ast.Call(args=[ast.Starred(value=ast.Name(id=passed)) as star]) if passed == name:
                        if takes_sizes(source, call):
                            yield source.replaced(star, name)


def _change(source: Source, node: ast.expr) -> TextChange | None:
    match node:
        case ast.Tuple(elts=elements) if text := _sum(source, elements, Values(source).is_shape):
            return source.with_operation(node, text)
        case ast.List(elts=elements) if _is_sizes(source, node):
            text = _sum(source, elements, Values(source).is_shape)
            return source.replaced(node, text) if text else None
        case ast.Call(func=ast.Name(id="tuple"), args=[shape], keywords=[]) if Values(source).is_shape(shape):
            return source.replaced(node, source.operand(shape))
        case ast.Call() if takes_sizes(source, node):
            return with_added_sizes(source, node, Values(source).is_shape)
    return None


def with_added_sizes(source: Source, call: ast.Call, is_shape: Callable[[ast.expr], bool]) -> TextChange | None:
    """Pass a sum of tuples to a call that takes sizes; None if nothing, or something that is no shape, is starred."""
    if not call.args or (text := _sum(source, call.args, is_shape)) is None:
        return None
    (_, over), (_, start) = source.offsets(call), source.offsets(call.func)
    begin, end = source.offsets(call.args[0])[0], source.offsets(call.args[-1])[1]
    head, tail = source.text[start:begin], source.text[end:over]
    is_plain = head.strip() == "(" and tail.lstrip()[:1] in (",", ")")
    return source.replaced(call, f"{source.slice(call.func)}{head}{text}{tail}") if is_plain else None


def _is_sizes(source: Source, node: ast.List) -> bool:
    """Whether ``node`` is the only positional argument of a call that accepts sizes."""
    call = source.parent(node)
    return isinstance(call, ast.Call) and call.args == [node] and takes_sizes(source, call)


def _sum(source: Source, elements: Sequence[ast.expr], is_shape: Callable[[ast.expr], bool]) -> str | None:
    """A sum of tuples that equals ``elements``; None if nothing, or something other than a shape, is starred."""
    terms: list[str] = []
    loose: list[str] = []
    has_star = False
    for element in elements:
        if not isinstance(element, ast.Starred):
            loose.append(source.slice(element))
            continue
        if not is_shape(element.value):
            return None
        has_star = True
        terms += [*([tuple_text(loose)] if loose else []), source.operand(element.value)]
        loose = []
    return " + ".join([*terms, *([tuple_text(loose)] if loose else [])]) if has_star else None
