"""Call all modules of a list, and choose one of the results, if a tensor says which module is meant.

A capture has to know which module it calls, but it can choose a result by a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.conditions import draws
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is (the index of) the module in ``self.experts[index](x)``.

    Whether the results have one size, so that they can be stacked, only a proof can tell.
    """
    for part in (node, source.parent(node)):
        match part:
            case ast.Subscript(value=ast.Attribute() | ast.Name() as modules, slice=index) if _is_one(index):
                call = source.parent(part)
                if isinstance(call, ast.Call) and call.func is part and not draws(call):
                    torch, each = imported(source, "torch"), source.unused("each")
                    given = source.text[source.offsets(part)[1] : source.offsets(call)[1]]
                    which = f"{source.operand(_tensor(source, index))}.reshape(1)"
                    results = f"[{each}{given} for {each} in {source.slice(modules)}]"
                    text = f"{torch.name}.stack({results})[{which}][0]"
                    title = f"Call all of {source.slice(modules)}, and choose a result"
                    yield Fix(title, (*torch.changes, source.replaced(call, text)))
                return


def _is_one(index: ast.expr) -> bool:
    """Whether an index may be a tensor, or a number that was read from one."""
    return isinstance(index, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _tensor(source: Source, index: ast.expr) -> ast.expr:
    """The tensor that an index is, or was read from."""
    for value in (index, Values(source).only_value(index)):
        match value:
            case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
                return tensor
            case ast.Call(func=ast.Name(id="int"), args=[ast.expr() as tensor], keywords=[]):
                return _tensor(source, tensor)
    return index
