"""Leave out ``torch.autograd.Variable``, which tensors have not needed since torch 0.4, and which can't be captured."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression

_NAMES = frozenset({"torch.autograd.Variable", "torch.autograd.variable.Variable"})


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is ``Variable(x)``, which is ``x.detach()`` unless it asks for a gradient."""
    match node:
        case ast.Call(func=function, args=[value, *others], keywords=keywords):
            is_variable = source.names.qualified(function) in _NAMES and not isinstance(value, ast.Starred)
            settings = [*others, *(keyword.value for keyword in keywords)]
            if is_variable and all(isinstance(setting, ast.Constant) and not setting.value for setting in settings):
                yield Fix("Leave out `Variable`", (source.replaced(node, _detached(source, value)),))


def _detached(source: Source, value: ast.expr) -> str:
    match value:
        case ast.Attribute(attr="data") | ast.Call(func=ast.Attribute(attr="detach")):
            return source.operand(value)
    return f"{source.operand(value)}.detach()"
