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
            above = TextChange(Span(source.path, decorator.lineno, 0, decorator.lineno + 1, 0), "")
            start = Span(source.path, first.lineno, first.col_offset, first.lineno, first.col_offset)
            yield Fix(f"Make `{function.name}` an ordinary method", (above, TextChange(start, "self, ")))


def _is_called_without_module(source: Source, function: ast.FunctionDef) -> bool:
    """Whether a class may be asked for the function, or the function uses the name ``self`` for something else.

    Whatever is asked may be the class or a subclass, except for ``self`` and ``super()``.
    """
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    reads = (node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute))
    asked = (ast.unparse(read.value) for read in reads if read.attr == function.name)
    return (
        source.enclosing_class(function) is None
        or "self" in names | {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
        or any(value not in ("self", "super()") for value in asked)
    )
