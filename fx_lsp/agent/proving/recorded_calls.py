"""The calls that an edit has recorded in the graph instead of traced: those of functions that it wraps."""

from __future__ import annotations

import ast

from fx_lsp.agent.messages import Span


def added_wraps(old: str, new: str) -> set[str]:
    """The names of the functions that only ``new`` wraps, by a statement like ``torch.fx.wrap("name")``."""
    return _wrapped(new) - _wrapped(old)


def _wrapped(text: str) -> set[str]:
    """The names of the functions that a text wraps; none if it is not valid Python, which the import will report."""
    names: set[str] = set()
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return names
    for node in statements:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="wrap"), args=[ast.Constant(value=str(name))])):
                names.add(name)
    return names


def called_name(text: str, span: Span) -> str | None:
    """The name that the call at ``span`` calls, such as ``f`` for ``f(x)``; None if there is no such call."""
    ends = span.line, span.col, span.end_line, span.end_col
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == ends:
                    return name
    return None
