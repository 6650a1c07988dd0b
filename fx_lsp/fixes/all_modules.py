"""Call all modules of a list, and choose one of the results, if a tensor says which module is meant.

A capture has to know which module it calls, but it can choose a result by a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.conditions import draws
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is (the index of) the module in ``self.experts[index](x)``.

    Only a proof can show whether the results have one size, so that they can be stacked.
    """
    for part in (node, source.parent(node)):
        match part:
            case ast.Subscript(value=ast.Attribute() | ast.Name() as modules, slice=index) if _may_be_tensor(index):
                call = source.parent(part)
                if isinstance(call, ast.Call) and call.func is part and not draws(call):
                    torch, each = imported(source, "torch"), source.unused("each")
                    which, changes = _tensor(source, index)
                    given = source.text[source.offsets(part)[1] : source.offsets(call)[1]]
                    results = f"[{each}{given} for {each} in {source.slice(modules)}]"
                    text = f"{torch.name}.stack({results})[{which}.reshape(1)][0]"
                    title = f"Call all of {source.slice(modules)}, and choose a result"
                    yield Fix(title, (*torch.changes, *changes, source.replaced(call, text)))
                return


def _may_be_tensor(index: ast.expr) -> bool:
    """Whether an index may be a tensor, or a number that was read from one."""
    return isinstance(index, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _tensor(source: Source, index: ast.expr) -> tuple[str, list[TextChange]]:
    """The text of the tensor that an index is, or was read from; and the changes by which a name gets this tensor."""
    if tensor := _read_from(source, index):
        return tensor, []
    value = Values(source).only_value(index)
    if value is not None and (tensor := _read_from(source, value)):
        return source.slice(index), [source.replaced(value, tensor)]
    return source.operand(index), []


def _read_from(source: Source, number: ast.expr) -> str | None:
    """The tensor that ``number`` was read from, as integers if that rounds."""
    match number:
        case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
            return source.operand(tensor)
        case ast.Call(func=ast.Name(id="int"), args=[ast.expr() as value], keywords=[]):
            return f"{_read_from(source, value) or source.operand(value)}.long()"
    return None
