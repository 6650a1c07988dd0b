"""Compute with a tensor instead of its copy in NumPy, which ``torch.export`` can't follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.import_edits import imported

_BACK = frozenset({"torch.from_numpy", "torch.as_tensor"})
"""The functions that turn an array into a tensor, and that a tensor does not need."""

_SAME = frozenset({"abs", "cos", "exp", "log", "maximum", "minimum", "sin", "sqrt", "tanh"})
"""Functions that NumPy and torch have under one name and with the same positional arguments."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is ``x.numpy()``: torch has most methods of arrays under the same names."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="numpy"), args=[], keywords=[]):
            torch = imported(source, "torch")
            around = [*_around(source, node, torch.name)]
            needed = torch.changes if any(change.text for change in around) else ()
            changes = (*needed, source.replaced(node, source.slice(tensor)), *around)
            yield Fix("Stay in torch: leave out .numpy()", changes)


def _around(source: Source, node: ast.expr, torch: str) -> Iterator[TextChange]:
    """The changes to the calls around ``node`` in its statement: what computed with an array now gets a tensor."""
    for outer in source.around(node):
        if isinstance(outer, ast.stmt):
            return
        if not isinstance(outer, ast.Call) or source.contains(outer.func, node):
            continue
        function = source.names.qualified(outer.func) or ""
        module, _, name = function.rpartition(".")
        if function in _BACK or (isinstance(outer.func, ast.Name) and outer.func.id == "float"):
            yield source.replaced(outer.func, "")  # parentheses stay around its argument
        elif module == "numpy" and name in _SAME:
            yield source.replaced(outer.func, f"{torch}.{name}")
