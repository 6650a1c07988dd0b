"""Finds the calls in a file that trace a program: ``symbolic_trace(net)`` and ``tracer.trace(net)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Span
from fx_lsp.fixes.editing import ReadText
from fx_lsp.fixes.editing.edited_source import Source, source_of


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
