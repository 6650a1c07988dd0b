"""Index with a tensor that has one dimension instead of none: torch reads the number in one that has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is ``x[:, i]``: ``x[:, i[None]][:, 0]`` or, before a ``= 1``, the first half.

    Whether ``i`` is a tensor without dimensions, the text does not tell: for others, the edited program does not do the
    same.
    """
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            pass
        case ast.Subscript(slice=part):
            parts = [part]
        case _:
            return
    at = next((at for at, part in enumerate(parts) if not _is_slice(part)), None)
    is_only = at is not None and all(map(_is_slice, parts[at + 1 :])) and not isinstance(parts[at], ast.Starred)
    if at is None or not is_only or not (isinstance(node.ctx, ast.Load) or _is_set_to_constant(source, node)):
        return
    index = source.replaced(parts[at], f"{source.operand(parts[at])}[None]")
    changes = [index]
    if isinstance(node.ctx, ast.Load):
        ahead = "..., " if any(_is_ellipsis(part) for part in parts[:at]) else ":, " * at
        behind = ", :" * (len(parts) - at - 1) if ahead.startswith("...") else ""
        changes.append(source.behind(node, f"[{ahead}0{behind}]"))
    yield Fix("Index with a tensor of one dimension", tuple(changes))


def _is_slice(part: ast.expr) -> bool:
    """Whether a part of an index keeps a dimension, or adds one."""
    return isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value in (None, ...))


def _is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...


def _is_set_to_constant(source: Source, node: ast.expr) -> bool:
    match source.statement(node):
        case ast.Assign(targets=[target], value=ast.Constant()):
            return target is node
    return False
