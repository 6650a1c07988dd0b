"""An argument of the traced function that is a flag, as a fixed one: ``concrete_args`` of the call that traces it."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes import Fix, ReadText, TextChange
from fx_lsp.fixes.calls import TracingCall, tracing_calls
from fx_lsp.fixes.source import Source, failing
from fx_lsp.scopes import Function


def fixes(failure: Failure, read: ReadText, calls: Sequence[Span]) -> Iterator[Fix]:
    """One fix for each call that traces the root, where a parameter with a constant for a default decides.

    Where nothing calls, the root was found by fx-lsp: a comment above its class tells it.
    """
    found = failing(dataclasses.replace(failure, chain=failure.chain[:1]), read)
    if found is None:
        return
    source, node = found
    function = source.function(node)
    defaults = _constant_defaults(function) if function else {}
    named = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} & defaults.keys()
    is_further_in = len(failure.chain) > 1  # where an optional input may have been passed on to, but hardly a flag
    flags = sorted(flag for flag in named if defaults[flag] == "None" or not is_further_in)
    if not flags:
        return
    title = f"Trace with {', '.join(f'{flag}={defaults[flag]}' for flag in flags)}"
    tracing = list(tracing_calls(calls, read))
    entries = ", ".join(f'"{flag}": {defaults[flag]}' for flag in flags)
    changes = [_change(call, entries) for call in tracing]
    if not calls and function is not None:
        changes.append(_directive(source, function, ", ".join(f"{flag}={defaults[flag]}" for flag in flags)))
    yield from (Fix(title, (change,)) for change in changes if change is not None)


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
        case ast.Constant(value=None) as none:
            return call.source.replaced(none, f"{{{entries}}}")
        case None:
            return call.source.behind(call.root, f", concrete_args={{{entries}}}")
        case ast.Dict(values=[*_, last]):
            return call.source.behind(last, f", {entries}")
    return None


def _directive(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, settings: str) -> TextChange | None:
    """The comment above the root, where nothing is said there yet."""
    root = next(outer for outer in (function, *source.around(function)) if outer in source.tree.body)
    if not isinstance(root, (ast.ClassDef, *Function)) or (
        root is not function and source.parent(function) is not root
    ):
        return None
    first = min([root.lineno, *(decorator.lineno for decorator in root.decorator_list)])
    comments = [source.lines.line(number - 1) for number in range(source.start_of_definition(root), first)]
    if any(comment.startswith("# fx:") for comment in comments):
        return None
    return TextChange(Span(source.path, first, 0, first, 0), f"# fx: concrete_args({settings})\n")
