"""Compute with a tensor instead of its copy in NumPy, which ``torch.export`` can't follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Span
from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.conditions import is_name
from fx_lsp.fixes.editing.data_flow import place
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.import_edits import imported

_BACK = frozenset({"torch.from_numpy", "torch.as_tensor"})
"""The functions that turn an array into a tensor, and that a tensor does not need."""

_SAME = frozenset(
    {"abs", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p"}
    | {"log2", "maximum", "minimum", "round", "sign", "sin", "sinh", "sqrt", "square", "stack", "tan", "tanh", "where"}
)
"""Functions that NumPy and torch have under one name and with the same positional arguments."""

_OTHER = {"clip": "clamp", "concatenate": "cat", "power": "pow"}
"""Functions that have another name in torch."""

_DTYPES = {
    name: f"torch.{name}" for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")
} | {"bool_": "torch.bool"}
"""NumPy's types, and torch's."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is ``x.numpy()``: torch has most methods of arrays under the same names.

    What the function computes with the array, also under a name, gets the tensor.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="numpy"), args=[], keywords=[]):
            torch = imported(source, "torch")
            uses = [change for array in _arrays(source, node) for change in _around(source, array, torch.name)]
            around = list(dict.fromkeys(uses))
            needed = torch.changes if any(change.text for change in around) else ()
            changes = (*needed, source.replaced(node, source.slice(tensor)), *around)
            yield Fix("Stay in torch: leave out .numpy()", changes)


def _arrays(source: Source, node: ast.expr) -> list[ast.expr]:
    """``node``, and the names that the function gives to it and to what it computes with it."""
    found = [node]
    for array in found:
        match source.statement(array):
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if source.contains(value, array):
                within = ast.walk(source.function(array) or source.tree)
                uses = [use for use in within if is_name(use, name) and isinstance(use.ctx, ast.Load)]
                found += [use for use in uses if use not in found and place(use) > place(array)]
    return found


def _around(source: Source, node: ast.expr, torch: str) -> Iterator[TextChange]:
    """The changes to the calls around ``node`` in its statement: what computed with an array now gets a tensor."""
    for outer in source.around(node):
        if isinstance(outer, ast.stmt):
            return
        if isinstance(outer, ast.Call) and source.contains(outer.func, node):
            yield from _method(source, outer, torch)
        if not isinstance(outer, ast.Call) or source.contains(outer.func, node):
            continue
        function = source.names.qualified(outer.func) or ""
        module, _, name = function.rpartition(".")
        if function in _BACK or (isinstance(outer.func, ast.Name) and outer.func.id == "float"):
            yield source.replaced(outer.func, "")  # parentheses stay around its argument
        elif module == "numpy" and name in _SAME | _OTHER.keys() and not outer.keywords:
            yield source.replaced(outer.func, f"{torch}.{_OTHER.get(name, name)}")


def _method(source: Source, call: ast.Call, torch: str) -> Iterator[TextChange]:
    """The changes to a method of an array that a tensor has under another name."""
    match call:
        case ast.Call(func=ast.Attribute(value=array, attr="astype"), args=[dtype], keywords=[]):
            name = (source.names.qualified(dtype) or ast.unparse(dtype).strip("'")).removeprefix("numpy.")
            if name in _DTYPES:
                kind = _DTYPES[name].replace("torch", torch, 1)
                start = source.behind(array, "").span
                end = source.behind(call, "").span
                span = Span(source.path, start.line, start.col, end.line, end.col)
                yield TextChange(span, f".to({kind})")
        case ast.Call(func=ast.Attribute(value=array, attr="copy"), args=[], keywords=[]):
            start, end = source.behind(array, "").span, source.behind(call, "").span
            yield TextChange(Span(source.path, start.line, start.col, end.line, end.col), ".clone()")
