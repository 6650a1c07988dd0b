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
    """The only part of an index that is no slice; None if there is none, or if it can't be a tensor."""
    found = [part for part in _parts(node) if not _is_slice(part)]
    is_possible = len(found) == 1 and isinstance(found[0], _VALUES)
    return found[0] if is_possible and not all(isinstance(leaf, ast.Constant) for leaf in _leaves(found[0])) else None


_VALUES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp)


def _leaves(node: ast.expr) -> list[ast.expr]:
    """The operands of the operations in ``node``."""
    return [*_leaves(node.left), *_leaves(node.right)] if isinstance(node, ast.BinOp) else [node]


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
    """Whether ``node`` sets items to one constant, or reads what nobody changes: it may be a view."""
    match source.statement(node):
        case ast.Assign(targets=[target], value=ast.Constant()) if target is node:
            return True
    match source.parent(node):
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if value is node:
            return False
        case ast.Attribute(attr=name) if name.endswith("_"):
            return False
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
