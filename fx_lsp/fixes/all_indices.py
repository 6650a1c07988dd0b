"""Go through all indices instead of those that ``nonzero`` finds, whose number depends on data.

For example, a mixture of experts then also runs the experts that got no tokens. The program has to do the same if the
body of the loop runs for the other indices, too. Whether it does, the text can't tell: only a proof can.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values

_LAYOUT = frozenset({"cpu", "flatten", "squeeze", "tolist", "unique", "view", "reshape"})
"""Methods that leave the indices as they are."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if a loop goes through what ``nonzero`` returns, and that is what fails."""
    for loop in _loops(source, node):
        mask = _mask(source, Values(source).only_value(loop.iter) or loop.iter)
        if mask is not None:
            text = f"range({source.operand(mask)}.shape[0])"
            yield Fix("Go through all indices", (source.replaced(loop.iter, text),))
            return


def _loops(source: Source, node: ast.expr) -> Iterator[ast.For]:
    """The loop over ``node``, or over the name that it is assigned to."""
    statement = source.statement(node)
    if isinstance(statement, ast.For) and source.contains(statement.iter, node):
        yield statement
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            for loop in ast.walk(source.function(statement) or ast.Pass()):
                if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name) and loop.iter.id == name:
                    yield loop


def _mask(source: Source, value: ast.expr) -> ast.expr | None:
    """The tensor with one dimension of whose elements ``value`` has the indices of those that are true."""
    match value:
        case ast.Call(func=ast.Attribute(value=mask, attr="nonzero"), args=[]) if not _is_torch(source, mask):
            return mask
        case ast.Call(func=ast.Attribute(value=indices, attr=method)) if method in _LAYOUT:
            return _mask(source, indices)
        case ast.Call(func=function, args=[mask], keywords=[]):
            return mask if source.names.qualified(function) == "torch.nonzero" else None
        case ast.Subscript(value=ast.Call(func=function, args=[mask], keywords=[]), slice=ast.Constant(value=0)):
            return mask if source.names.qualified(function) == "torch.where" else None
    return None


def _is_torch(source: Source, node: ast.expr) -> bool:
    return source.names.qualified(node) == "torch"
