"""Determines how much code has to move with an expression so that no branch elsewhere depends on the expression."""

from __future__ import annotations

import ast

from fx_lsp.fixes.editing.data_flow import leaves
from fx_lsp.fixes.editing.edited_source import Source

_PASSING = (ast.Starred, ast.comprehension, ast.GeneratorExp)
"""Nodes that can be moved only together with the expression around them: ``*x``, ``for y in x`` and generators."""

_BUILTINS = frozenset(
    {"all", "any", "bool", "complex", "dict", "enumerate", "filter", "float", "int", "len", "list", "map", "max", "min"}
    | {"range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"}
)
"""Functions that need the actual value of their arguments."""

Part = ast.expr | list[ast.stmt]
"""An expression, or adjacent statements."""


def deciding_part(source: Source, node: ast.expr) -> Part | None:
    """The smallest part around ``node`` whose results no other code needs to know while tracing.

    None if ``node`` is not in a function, or if its value decides when the function returns or what a loop does next.
    """
    if source.function(node) is None:
        return None
    match node:
        case ast.Call(func=ast.Attribute(attr="_assert"), args=[checked, *_]):
            return checked  # the check itself is recorded
    part: ast.expr = node
    for inner, outer in zip((node, *source.around(node)), source.around(node), strict=False):
        if isinstance(outer, ast.stmt):
            is_target = not isinstance(getattr(part, "ctx", ast.Load()), ast.Load)
            is_whole = is_target or isinstance(outer, ast.Expr) or _decides(outer, inner)
            return _statements(source, outer) if is_whole else _with_attribute(source, part)
        if isinstance(outer, ast.Lambda):
            return _with_attribute(source, part)
        if isinstance(outer, ast.expr) and not isinstance(outer, _PASSING) and _decides(outer, inner):
            part = outer
    return None


def _with_attribute(source: Source, part: ast.expr) -> ast.expr:
    """``part`` together with an attribute read from it directly: all of ``torch.finfo(x.dtype).min``."""
    outer = source.parent(part)
    is_method = isinstance(source.parent(outer), ast.Call)
    return outer if isinstance(outer, ast.Attribute) and not is_method else part


def _decides(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether what ``outer`` does while tracing depends on the value of ``inner``, a part of ``outer``."""
    match outer:
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) | ast.IfExp(test=test):
            return inner is test
        case ast.For(iter=iterated):
            return inner is iterated
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[_, _, *_]):
            return True
        case ast.Call(func=ast.Name(id=name)) if name in _BUILTINS:
            return True
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return True
    return isinstance(inner, _PASSING)


def _statements(source: Source, statement: ast.stmt) -> list[ast.stmt] | None:
    """``statement`` or, for an ``elif``, the whole ``if``; with the rest of its block if it contains a ``return``.

    None if it contains a ``return``, but its block does not always end by returning or raising an error.
    """
    while source.is_elif(statement):
        parent = source.parent(statement)
        assert isinstance(parent, ast.stmt)
        statement = parent
    if not any(isinstance(node, ast.Return) for node in ast.walk(statement)):
        return [statement]
    block = source.block(statement)
    rest = block[block.index(statement) :]
    return rest if leaves(rest, (ast.Return, ast.Raise)) else None
