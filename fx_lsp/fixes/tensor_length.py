"""Replace ``len``, which has to return a plain integer, with recorded methods: ``x.size(0)`` and ``x.dim()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if ``len`` of a tensor or of its shape failed, unless the length is the argument of ``range``."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[argument], keywords=[]) if not _counts_turns(source, node):
            text = _length(source, argument)
            if text is not None:
                is_difference = isinstance(ast.parse(text, mode="eval").body, ast.BinOp)
                change = source.with_operation if is_difference else source.replaced
                yield Fix(f"Replace with {text}", (change(node, text),))


def _counts_turns(source: Source, node: ast.expr) -> bool:
    parent = source.parent(node)
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "range"


def _length(source: Source, argument: ast.expr) -> str | None:
    match argument:
        case ast.Subscript(value=shape, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            rank = _rank(source, shape)
            return rank and _shortened(rank, lower, upper)
        case _ if rank := _rank(source, argument):
            return rank
        case ast.Name() if items := Values(source).items(argument):
            return str(len(items))
    return f"{source.operand(argument)}.size(0)" if Values(source).can_be_tensor(argument) else None


def _rank(source: Source, shape: ast.expr) -> str | None:
    match shape:
        case ast.Attribute(value=tensor, attr="shape"):
            return f"{source.operand(tensor)}.dim()"
        case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[], keywords=[]):
            return f"{source.operand(tensor)}.dim()"
    return None


def _shortened(rank: str, lower: ast.expr | None, upper: ast.expr | None) -> str | None:
    """``rank`` minus the number of items that ``[2:]``, ``[:-1]`` or ``[1:-1]`` cuts off."""
    match lower, upper:
        case ast.Constant(value=int(count)), None:
            return f"{rank} - {count}"
        case None, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(count))):
            return f"{rank} - {count}"
        case ast.Constant(value=int(first)), ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(last))):
            return f"{rank} - {first + last}"
    return None
