"""Replace Python's numeric functions, which need plain numbers, with torch's, which are recorded.

``torch.sym_max`` and similar functions accept plain numbers as well as traced ones, but not tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if ``min``, ``max``, ``int``, ``float``, ``sum`` or ``not`` of numbers failed."""
    torch = imported(source, "torch")
    parent = source.parent(node)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        node, text = parent, _negation(source, parent, torch.name)
    else:
        text = _call(source, node, torch.name)
    if text is not None:
        name = text.partition("(")[0]
        outer = _conversions(source, node, torch.name)
        yield Fix(f"Replace with {name}", (*torch.changes, *outer, source.replaced(node, text)))


def _conversions(source: Source, node: ast.expr, torch: str) -> Iterator[TextChange]:
    """The changes that also replace calls to ``int`` and ``float`` around ``node`` in the same statement."""
    for outer in source.around(node):
        match outer:
            case ast.stmt():
                return
            case ast.Call(func=ast.Name(id="int" | "float" as name) as function, args=[_], keywords=[]):
                yield source.replaced(function, f"{torch}.sym_{name}")


def _negation(source: Source, negation: ast.UnaryOp, torch: str) -> str | None:
    """``torch.sym_not(x)`` for ``not x`` if its value is stored or passed on; None if a branch may depend on it."""
    outer = source.parent(negation)
    keeps = isinstance(outer, (ast.Assign, ast.AnnAssign, ast.Return, ast.keyword)) or (
        isinstance(outer, ast.Call) and negation in outer.args
    )
    return f"{torch}.sym_not({source.slice(negation.operand)})" if keeps else None


def _call(source: Source, node: ast.expr, torch: str) -> str | None:
    match node:
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=arguments, keywords=[]):
            values = _values(arguments)
            numbers = values and any(Values(source).is_number(value) for value in values)
            return _nested(f"{torch}.sym_{name}", [source.slice(value) for value in values]) if numbers else None
        case ast.Call(func=ast.Name(id="int" | "float" as name), args=[argument], keywords=[]):
            return f"{torch}.sym_{name}({source.slice(argument)})"
        case ast.Call(func=ast.Name(id="sum"), args=[ast.List() | ast.Tuple() as terms], keywords=[]):
            return f"{torch}.sym_sum({source.slice(terms)})"
    return None


def _values(arguments: list[ast.expr]) -> list[ast.expr]:
    """The two or more values that are compared, if they are arguments or items of a list; empty otherwise."""
    match arguments:
        case [ast.List(elts=values) | ast.Tuple(elts=values)]:
            arguments = values
    is_plain = len(arguments) > 1 and not any(isinstance(value, ast.Starred) for value in arguments)
    return arguments if is_plain else []


def _nested(function: str, values: list[str]) -> str:
    """Nested calls to ``function``, which takes two values: two calls for three values."""
    *first, last = values
    return f"{function}({first[0] if len(first) == 1 else _nested(function, first)}, {last})"
