"""Shapes that are unpacked by a star, as sums of tuples, which are recorded: ``s + (-1, n)`` for ``(*s, -1, n)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes import Fix, ReadText, TextChange
from fx_lsp.fixes.sizes import takes_sizes
from fx_lsp.fixes.source import Source, failing
from fx_lsp.fixes.values import Values

_TITLE = "Add the tuples instead of unpacking the shape"


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix where a shape failed to be unpacked in a tuple, or into the sizes that a call takes."""
    found = failing(failure, read)
    if found is None:
        return
    source, node = found
    change = _change(source, node)
    if change is not None:
        yield Fix(_TITLE, (change, *_uses(source, node)))


def _uses(source: Source, node: ast.expr) -> Iterator[TextChange]:
    """Pass whole, where a call takes it for its sizes, what ``node`` is assigned to: a sum can't be unpacked either."""
    match source.parent(node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            for call in ast.walk(source.function(node) or node):
                match call:
                    case ast.Call(args=[ast.Starred(value=ast.Name(id=passed)) as star]) if passed == name:
                        if takes_sizes(source, call):
                            yield source.replaced(star, name)


def _change(source: Source, node: ast.expr) -> TextChange | None:
    match node:
        case ast.Tuple(elts=elements) if text := _sum(source, elements):
            return source.with_operation(node, text)
        case ast.List(elts=elements) if _is_sizes(source, node) and (text := _sum(source, elements)):
            return source.replaced(node, text)
        case ast.Call(func=ast.Name(id="tuple"), args=[shape], keywords=[]) if Values(source).is_shape(shape):
            return source.replaced(node, source.operand(shape))
        case ast.Call(args=[*_, last] as sizes) if takes_sizes(source, node) and (text := _sum(source, sizes)):
            whole, (_, start) = source.slice(node), source.offsets(node.func)
            begin, end = source.offsets(sizes[0])[0], source.offsets(last)[1]
            offset = source.offsets(node)[0]
            head, tail = source.text[start:begin], source.text[end : offset + len(whole)]
            is_plain = head.strip() == "(" and tail.lstrip()[:1] in (",", ")")
            return source.replaced(node, f"{source.slice(node.func)}{head}{text}{tail}") if is_plain else None
    return None


def _is_sizes(source: Source, node: ast.List) -> bool:
    """Whether a list is only there for a call to take sizes from."""
    call = source.parent(node)
    return isinstance(call, ast.Call) and call.args == [node] and takes_sizes(source, call)


def _sum(source: Source, elements: Sequence[ast.expr]) -> str | None:
    """Tuples that add up to ``elements``; None without a star, and where a star may be no shape."""
    terms: list[str] = []
    loose: list[str] = []
    has_star = False
    for element in elements:
        if not isinstance(element, ast.Starred):
            loose.append(source.slice(element))
            continue
        if not Values(source).is_shape(element.value):
            return None
        has_star = True
        terms += [*_tuple(loose), source.operand(element.value)]
        loose = []
    return " + ".join([*terms, *_tuple(loose)]) if has_star else None


def _tuple(elements: list[str]) -> list[str]:
    return [f"({', '.join(elements)}{',' if len(elements) == 1 else ''})"] if elements else []
