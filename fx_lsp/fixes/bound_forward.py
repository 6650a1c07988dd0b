"""Make a static ``forward`` an ordinary method: torch.fx passes the module as the first argument to either."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import STATIC_FORWARD, Failure, Span
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the root's ``forward`` is static, unless the file also calls it without a module."""
    outermost = next(editable(failure.chain[:1], read), None)
    if outermost is None or failure.operation != STATIC_FORWARD:
        return
    source, node = outermost
    function = source.function(node)
    match function:
        case ast.FunctionDef(
            decorator_list=[ast.Name(id="staticmethod") as decorator],
            args=ast.arguments(posonlyargs=[], args=[first, *_]),
        ) if not _is_called_without_module(source, function):
            end = function.lineno, function.col_offset
            above = TextChange(Span(source.path, decorator.lineno, decorator.col_offset - 1, *end), "")
            start = Span(source.path, first.lineno, first.col_offset, first.lineno, first.col_offset)
            yield Fix(f"Make `{function.name}` an ordinary method", (above, TextChange(start, "self, ")))


def _is_called_without_module(source: Source, function: ast.FunctionDef) -> bool:
    """Whether the class itself is asked for the function, or the function uses the name ``self`` for something else."""
    owner = source.enclosing_class(function)
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    reads = (node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute))
    asked = (read.value for read in reads if read.attr == function.name)
    return (
        owner is None
        or "self" in names | {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
        or any(isinstance(value, ast.Name) and value.id in (owner.name, "cls") for value in asked)
    )
