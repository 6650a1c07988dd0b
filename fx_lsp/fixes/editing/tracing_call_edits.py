"""Finds what says how a program is traced: ``symbolic_trace(net)``, ``tracer.trace(net)``, or the place of a directive.

If no call traces the program, fx-lsp inferred that it can be traced; a directive above its definition can then say how.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Span
from fx_lsp.documents.scopes import Function
from fx_lsp.fixes.editing import ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, first_line, source_of


@dataclass(frozen=True)
class TracingCall:
    """A call that traces ``root``."""

    source: Source
    call: ast.Call
    root: ast.expr
    concrete_args: ast.expr | None
    is_plain: bool
    """Whether the called function is ``symbolic_trace``, which uses the default tracer."""


def tracing_calls(spans: Sequence[Span], read: ReadText) -> Iterator[TracingCall]:
    """The calls at ``spans`` in files that may be edited."""
    for span in spans:
        source = source_of(span.file, read)
        match source and source.expression(span):
            case ast.Call(func=function, args=[root, *positional], keywords=keywords) as call if source is not None:
                by_name = [keyword.value for keyword in keywords if keyword.arg == "concrete_args"]
                name = (source.names.qualified(function) or "").rpartition(".")[2]
                concrete_args = next(iter([*positional, *by_name]), None)
                yield TracingCall(source, call, root, concrete_args, name == "symbolic_trace")


def directive(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> TextChange | None:
    """The change that adds the directive ``# fx: text`` above the root (the traced module or function).

    ``function`` is the function that is traced. None if the root already has a directive, or is not defined at the top
    level.
    """
    root = next(outer for outer in (function, *source.around(function)) if outer in source.tree.body)
    if not isinstance(root, (ast.ClassDef, *Function)) or (
        root is not function and source.parent(function) is not root
    ):
        return None
    first = first_line(root)
    comments = [source.lines.line(number - 1) for number in range(source.start_of_definition(root), first)]
    if any(comment.startswith("# fx:") for comment in comments):
        return None
    return TextChange(Span(source.path, first, 0, first, 0), f"# fx: {text}\n")
