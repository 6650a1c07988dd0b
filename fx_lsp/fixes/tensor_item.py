"""Read a number from a tensor with ``.item()`` rather than ``int``: ``torch.export`` then continues with a symbol."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is ``int(value)``; if the value is not an integer, the program changes."""
    match node:
        case ast.Call(func=ast.Name(id="int"), args=[value], keywords=[]) if not isinstance(value, ast.Starred):
            yield Fix("Read the number with .item()", (source.replaced(node, f"{source.operand(value)}.item()"),))
