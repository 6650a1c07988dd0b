"""Edits that only have calls recorded in the graph instead of traced: those of functions that they wrap."""

from __future__ import annotations

import ast
from collections import Counter

from fx_lsp.agent.messages import Span

_WRAP = frozenset({"torch.fx.wrap", "fx.wrap", "wrap"})


def added_wraps(old: str, new: str) -> set[str]:
    """The names of the functions that ``new`` wraps; none if it differs from ``old`` in anything but that.

    A function is wrapped by a statement like ``torch.fx.wrap("name")``, which may need an import.
    """
    try:
        before, after = ast.parse(old).body, ast.parse(new).body
    except SyntaxError:  # which the import will report
        return set()
    known, names, rest = Counter(map(ast.dump, before)), set(), []
    for node in after:
        match node:
            case ast.Expr(value=ast.Call(func=function, args=[ast.Constant(value=str(name))], keywords=[])) if (
                ast.unparse(function) in _WRAP and not known[ast.dump(node)]
            ):
                names.add(name)
            case ast.Import(names=[ast.alias(name="torch" | "torch.fx", asname=None)]) if not known[ast.dump(node)]:
                pass
            case _:
                rest.append(ast.dump(node))
    return names if rest == [*map(ast.dump, before)] else set()


def called_name(text: str, span: Span) -> str | None:
    """The name that the call at ``span`` calls, such as ``f`` for ``f(x)``; None if there is no such call."""
    ends = span.line, span.col, span.end_line, span.end_col
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == ends:
                    return name
    return None
