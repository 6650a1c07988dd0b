"""Ask for a dynamic batch, with ``dynamic_shapes``, where ``torch.export.export`` is called without it.

This fixes no failure: the exported program accepts only the batch size of the example, and no trace can know whether
that is intended. It is offered as a refactoring for a model that was exported with a dynamic batch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, parsed

_INPUT = r"(\w+): (\[(\d*)[^\[\]]*\](?: \w+)?|None|True|False|-?[\d.]+)"
"""An input as a report shows it: a tensor by its shape and dtype, or a plain value."""


def with_dynamic_batch(path: str, text: str, offset: int, inputs_of: Callable[[str], str]) -> Fix | None:
    """The edit of the call of ``torch.export.export`` at ``offset`` that lacks ``dynamic_shapes``; None without one.

    ``inputs_of`` returns for which inputs the class with a dotted name was exported with a dynamic batch, as in
    `Report.inputs`; empty if it was not. A name without a dot is defined in this file. Raises ImportError if libcst is
    not installed.
    """
    source = parsed(path, text)
    call = _call_at(source, offset) if source else None
    if source is None or call is None:
        return None
    match call:
        case ast.Call(args=[root, ast.Tuple(elts=given)], keywords=keywords) if not any(map(_conflicts, keywords)):
            if any(_has_batch_of_one(_assigned(source, one)) for one in given):
                return None
            exported = _class_of(source, root)
            shapes = _dynamic(inputs_of(exported), len(given)) if exported else None
            if shapes:
                last = keywords[-1].value if keywords else call.args[-1]
                return Fix("Export with a dynamic batch", (source.behind(last, f", dynamic_shapes={shapes}"),))
    return None


def _call_at(source: Source, offset: int) -> ast.Call | None:
    """The innermost call of ``torch.export.export`` at ``offset``, in a file where ``torch`` is that package."""
    if source.names.imported.get("torch") != "torch":
        return None
    found = None
    for node in ast.walk(source.tree):  # from the outside to the inside
        if isinstance(node, ast.Call) and source.names.qualified(node.func) == "torch.export.export":
            start = source.lines.offset_of_python(node.lineno, node.col_offset)
            end = source.lines.offset_of_python(node.end_lineno or node.lineno, node.end_col_offset or 0)
            found = node if start <= offset <= end else found
    return found


def _conflicts(keyword: ast.keyword) -> bool:
    """Whether a call with this argument already says which sizes are dynamic, or has inputs that are not looked at."""
    return keyword.arg in (None, "args", "kwargs", "dynamic_shapes")


def _has_batch_of_one(example: ast.expr) -> bool:
    """Whether ``example`` is a tensor like ``torch.ones(1, 4)``: torch takes its first size for a constant."""
    match example:
        case ast.Call(args=[ast.Tuple(elts=[size, *_]) | ast.List(elts=[size, *_]), *_]) | ast.Call(args=[size, *_]):
            return isinstance(size, ast.Constant) and size.value == 1
    return False


def _assigned(source: Source, value: ast.expr) -> ast.expr:
    """What is assigned to the variable ``value``, if that happens once; else ``value`` itself."""
    if not isinstance(value, ast.Name):
        return value
    targets = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id == value.id]
    bound = [node for node in targets if isinstance(node.ctx, ast.Store)]
    statement = source.parent(bound[0]) if len(bound) == 1 else None
    return statement.value if isinstance(statement, ast.Assign) else value


def _class_of(source: Source, root: ast.expr) -> str:
    """The dotted name of the class that ``root`` is an instance of; empty if that is not certain."""
    root = _assigned(source, root)
    while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute) and root.func.attr in ("eval", "train"):
        root = root.func.value
    return (source.names.qualified(root.func) or "") if isinstance(root, ast.Call) else ""


def _dynamic(inputs: str, count: int) -> str:
    """The ``dynamic_shapes`` for a call with so many inputs; empty if the ``inputs`` are others, or have parts."""
    found = list(re.finditer(_INPUT, inputs))
    if len(found) != count or ", ".join(one[0] for one in found) != inputs:
        return ""
    if any(one[3] == "1" for one in found):  # torch takes a size of 1 in the example for a constant
        return ""
    entries = (f'"{one[1]}": {"{0: torch.export.Dim.DYNAMIC}" if one[3] else "None"}' for one in found)
    return f"{{{', '.join(entries)}}}" if any(one[3] for one in found) else ""
