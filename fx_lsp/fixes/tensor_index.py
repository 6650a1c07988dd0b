"""Index with a tensor that has one dimension instead of none: torch reads the number in one that has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is ``x[:, i]``: ``x[:, i[None]][:, 0]`` or, before a ``= 1``, the first half.

    All that the function indexes with the same name is edited. Whether it is a tensor without dimensions, the text does
    not tell: for others, the edited program does not do the same.
    """
    if (index := _index(node)) is None or not _can_change(source, node):
        return
    same = [node]
    if isinstance(index, ast.Name):
        others = (other for other in ast.walk(source.function(node) or node) if isinstance(other, ast.expr))
        same = [other for other in others if _is_name(_index(other), index.id) and _can_change(source, other)]
    changes = [change for subscript in same for change in _changes(source, subscript)]
    yield Fix("Index with a tensor of one dimension", tuple(changes))


def _index(node: ast.expr) -> ast.expr | None:
    """The only part of an index that is no slice; None if there is none, or if ``node`` has no index."""
    found = [part for part in _parts(node) if not _is_slice(part)]
    return found[0] if len(found) == 1 and not isinstance(found[0], (ast.Starred, ast.Constant)) else None


def _parts(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return parts
        case ast.Subscript(slice=part):
            return [part]
    return []


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _can_change(source: Source, node: ast.expr) -> bool:
    """Whether ``node`` reads items, or sets them all to one constant."""
    match source.statement(node):
        case ast.Assign(targets=[target], value=ast.Constant()) if target is node:
            return True
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _changes(source: Source, subscript: ast.expr) -> Iterator[TextChange]:
    parts, index = _parts(subscript), _index(subscript)
    assert index is not None
    at = parts.index(index)
    yield source.replaced(index, f"{source.operand(index)}[None]")
    if isinstance(getattr(subscript, "ctx", None), ast.Load):
        is_behind_ellipsis = any(isinstance(part, ast.Constant) and part.value is ... for part in parts[:at])
        whole = ["...", "0", *[":"] * (len(parts) - at - 1)] if is_behind_ellipsis else [*[":"] * at, "0"]
        yield source.behind(subscript, f"[{', '.join(whole)}]")


def _is_slice(part: ast.expr) -> bool:
    """Whether a part of an index keeps a dimension, or adds one."""
    return isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value in (None, ...))
