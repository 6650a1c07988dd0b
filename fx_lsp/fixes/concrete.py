"""An argument of the traced function that is a flag, as a fixed one: ``concrete_args`` of the call that traces it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes import Fix, ReadText, TextChange
from fx_lsp.fixes.calls import TracingCall, tracing_calls
from fx_lsp.fixes.source import failing


def fixes(failure: Failure, read: ReadText, calls: Sequence[Span]) -> Iterator[Fix]:
    """One fix for each call that traces the root, where a parameter with a constant for a default decides."""
    found = failing(failure, read)
    if found is None or len(failure.chain) != 1:
        return
    source, node = found
    function = source.function(node)
    defaults = _constant_defaults(function) if function else {}
    flags = sorted({inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in defaults})
    if not flags:
        return
    settings = ", ".join(f"{flag}={defaults[flag]}" for flag in flags)
    entries = ", ".join(f'"{flag}": {defaults[flag]}' for flag in flags)
    for call in tracing_calls(calls, read):
        change = _change(call, entries)
        if change is not None:
            yield Fix(f"Trace with {settings}", (change,))


def _constant_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """Each parameter whose default is a constant that no tensor is likely to be given for, and that default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    return {
        parameter.arg: repr(default.value) if not isinstance(default.value, str) else f'"{default.value}"'
        for parameter, default in pairs
        if isinstance(default, ast.Constant) and type(default.value) in (bool, int, str, type(None))
    }


def _change(call: TracingCall, entries: str) -> TextChange | None:
    """What to add to the call."""
    match call.concrete_args:
        case None:
            return call.source.behind(call.root, f", concrete_args={{{entries}}}")
        case ast.Dict(values=[*_, last]):
            return call.source.behind(last, f", {entries}")
    return None
