"""Replace an assignment to items of a traced tensor with a recorded operation that creates a new tensor.

Unlike the assignment, the operation does not change other views of the old tensor's memory.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if ``x[index] = value`` failed and the index is a mask, or one position or slice of one dimension.

    A position is a number, such as that of a loop's turn.
    """
    statement = source.statement(node)
    match node, statement:
        case ast.Subscript(value=ast.Name(id=name), slice=index), ast.Assign(targets=[target], value=value):
            torch = imported(source, "torch")
            text = _result(source, node, index, value, torch.name) if target is node else None
            if text is not None:
                changes = torch.changes if text.startswith(f"{torch.name}.") else ()
                function = text.partition("(")[0].rpartition(".")[2]
                yield Fix(
                    f"Make a new tensor with {function}", (*changes, source.replaced(statement, f"{name} = {text}"))
                )


def _result(source: Source, node: ast.Subscript, index: ast.expr, value: ast.expr, torch: str) -> str | None:
    """An expression for the tensor after the assignment to ``node``; None if no known function computes it."""
    name, given = source.slice(node.value), source.slice(value)
    if _is_mask(source, index):
        mask = source.slice(index)
        if _is_scalar(value):
            return f"{name}.masked_fill({mask}, {given})"
        if isinstance(value, ast.Subscript) and ast.dump(value.slice) == ast.dump(index):
            return f"{torch}.where({mask}, {source.slice(value.value)}, {name})"
        return None
    indices = index.elts if isinstance(index, ast.Tuple) else [index]
    place = _place(source, indices)
    if place is None or _is_scalar(value) or Values(source).is_number(value):
        return None
    function, arguments = place
    return f"{torch}.{function}({name}, {given}, {arguments})"


def _is_mask(source: Source, index: ast.expr) -> bool:
    """Whether ``index`` can be a tensor of booleans."""
    is_other = isinstance(index, (ast.Slice, ast.Tuple, ast.List, ast.Constant, ast.UnaryOp, ast.BinOp))
    is_inverted = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert)
    is_both = isinstance(index, ast.BinOp) and isinstance(index.op, (ast.BitAnd, ast.BitOr))
    return (not is_other or is_inverted or is_both) and not Values(source).is_number(index)


def _is_scalar(value: ast.expr) -> bool:
    """Whether the source shows that ``value`` is a number."""
    match value:
        case ast.Constant(value=int() | float()) | ast.Call(func=ast.Name(id="float")):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_scalar(operand)
        case ast.Attribute(attr="inf" | "nan" | "pi"):
            return True
    return False


def _place(source: Source, indices: list[ast.expr]) -> tuple[str, str] | None:
    """The function that writes to the one indexed dimension, and its last arguments; None if there is none."""
    found = None
    for dimension, index in enumerate(indices):
        match index:
            case ast.Slice(lower=None, upper=None, step=None):
                continue
            case ast.Slice(lower=lower, upper=upper, step=None) if found is None:
                start, end = (source.slice(bound) if bound else "None" for bound in (lower, upper))
                found = "slice_scatter", f"{dimension}, {start}, {end}"
            case _ if found is None and Values(source).is_number(index):
                found = "select_scatter", f"{dimension}, {source.slice(index)}"
            case _:
                return None
    return found
