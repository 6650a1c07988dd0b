"""Replace a slice of a real tensor, with a traced size as a bound, by calls to ``narrow``, which are recorded.

``narrow`` is stricter than a slice: it raises an error for a range that extends past the end instead of cutting it off.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if a slice of a buffer or of another known tensor failed. (A module's parameters are traced values.)"""
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute() as tensor, slice=index):
            indices = index.elts if isinstance(index, ast.Tuple) else [index]
            calls = _calls(source, tensor, indices)
            if calls and (len(indices) > 1 or _is_tensor(source, tensor)):
                yield Fix("Replace the slice with narrow", (source.replaced(node, source.slice(tensor) + calls),))


def _calls(source: Source, tensor: ast.expr, indices: list[ast.expr]) -> str | None:
    """The calls to ``narrow``, one for each dimension that is cut; None if an index is not a simple slice."""
    calls = []
    for dimension, index in enumerate(indices):
        if not isinstance(index, ast.Slice) or index.step is not None:
            return None
        if any(isinstance(bound, ast.UnaryOp) for bound in (index.lower, index.upper)):
            return None
        if index.lower is not None or index.upper is not None:
            calls.append(f".narrow({dimension}, {_start_and_length(source, tensor, dimension, index)})")
    return "".join(calls)


def _start_and_length(source: Source, tensor: ast.expr, dimension: int, index: ast.Slice) -> str:
    start = "0" if index.lower is None else source.slice(index.lower)
    end = f"{source.slice(tensor)}.size({dimension})" if index.upper is None else source.slice(index.upper)
    if start == "0":
        return f"0, {end}"
    is_bound_sum = isinstance(index.upper, ast.BinOp)
    less = source.operand(index.lower) if index.lower is not None else start
    return f"{start}, {f'({end})' if is_bound_sum else end} - {less}"


def _is_tensor(source: Source, node: ast.expr) -> bool:
    """Whether the file shows that ``node`` is a tensor, not a list: a buffer, or the result of a torch function."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    for inner in ast.walk(source.tree):
        match inner:
            case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=registered), *_]):
                if registered == name:
                    return True
            case ast.Assign(targets=[target], value=ast.Call(func=function)) if ast.dump(target) == _stored(node):
                if (source.names.qualified(function) or "").rpartition(".")[0] == "torch":
                    return True
    return False


def _stored(node: ast.expr) -> str:
    """The dump of ``node`` as the target of an assignment."""
    return ast.dump(node).removesuffix("Load())") + "Store())"
