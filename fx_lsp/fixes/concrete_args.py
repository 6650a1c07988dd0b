"""Set a flag of the traced function to a constant, or leave out its optional inputs, with ``concrete_args``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.flag_uses import decides_on_way, names_at_failure, uses_as_objects
from fx_lsp.fixes.editing.text_edits import overlap
from fx_lsp.fixes.editing.tracing_call_edits import TracingCall, directive, tracing_calls


def fixes(failure: Failure, read: ReadText, calls: Sequence[Span], *, of_objects: bool | None = None) -> Iterator[Fix]:
    """One fix for each call that traces the root, if the failing code reads a parameter that is a flag.

    ``of_objects``: if True, only if the failing expression reads attributes or items of the flag's value, as in
    ``mask.any()``, so that it can handle a tensor; if False, only if it reads the value itself, as in ``if mask``;
    if None, in both cases.

    A flag has a constant default, or is required and compared with strings; its value is then the first of these.
    If no call traces the root (the traced module or function), fx-lsp inferred that it can be traced; the fix is then a
    directive above its definition.
    """
    outermost = next(editable(failure.chain[:1], read), None)
    if outermost is None:
        return
    source, node = outermost
    function = source.function(node)
    defaults = {**_compared_strings(function), **_constant_defaults(function)} if function else {}
    named = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} & defaults.keys()
    passed = {flag: names_at_failure(flag, failure.chain, read) for flag in named}
    flags = sorted(
        flag
        for flag in named
        if passed[flag] or (defaults[flag] == "None" and decides_on_way(flag, failure.chain, read))
    )
    innermost = next(editable(failure.chain[-1:], read), None)
    at_failure = {name for flag in flags for name in passed[flag]}
    uses_objects = innermost is not None and uses_as_objects(innermost[1], at_failure)
    if not flags or of_objects not in (None, uses_objects):
        return
    assert function is not None
    values = {flag: defaults[flag] for flag in flags}
    for new, change in _specializing(source, function, values, read, calls):
        yield Fix(f"Trace with {_listed(new)}", (change,))


def without_optional(fix: Fix, failure: Failure, read: ReadText, calls: Sequence[Span]) -> Iterator[Fix]:
    """``fix``, combined with a trace without the root's optional inputs: the parameters that are None by default.

    A graph requires each of its inputs, since a traced value is never None. So the fix alone helps only callers that
    pass all of them, and a proof needs such inputs, which can't be found if the code for one of them is wrong.
    """
    outermost = next(editable(failure.chain[:1], read), None)
    function = outermost[0].function(outermost[1]) if outermost else None
    if outermost is None or function is None:
        return
    read_names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    defaults = _constant_defaults(function)
    optional = {name: value for name, value in defaults.items() if value == "None" and name in read_names}
    for new, change in _specializing(outermost[0], function, optional, read, calls):
        if not any(overlap(change, other) for other in fix.changes):
            yield replace(fix, title=f"{fix.title}, and trace with {_listed(new)}", changes=(change, *fix.changes))


def _specializing(
    source: Source,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    values: Mapping[str, str],
    read: ReadText,
    calls: Sequence[Span],
) -> Iterator[tuple[Mapping[str, str], TextChange]]:
    """The changes, each of which has the root ``function`` traced with constants for some of its parameters.

    Each comes with those of the ``values`` that it adds: a call may already have some.
    """
    for call in tracing_calls(calls, read):
        new = {name: value for name, value in values.items() if name not in _given(call)}
        if new and (change := _change(call, ", ".join(f'"{name}": {value}' for name, value in new.items()))):
            yield new, change
    if not calls and values and (said := directive(source, function, f"concrete_args({_listed(values)})")):
        yield values, said


def _given(call: TracingCall) -> set[object]:
    """The names of the parameters for which the call already gives constants."""
    keys = call.concrete_args.keys if isinstance(call.concrete_args, ast.Dict) else []
    return {key.value for key in keys if isinstance(key, ast.Constant)}


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _constant_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """Each parameter whose default is a boolean, a number, a string or ``None``, with the source of that default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    found = {}
    for parameter, default in pairs:
        match default:
            case ast.Constant(value=str(text)):
                found[parameter.arg] = f'"{text}"'
            case ast.Constant(value=bool() | int() | float() | None):
                found[parameter.arg] = repr(default.value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                found[parameter.arg] = repr(-number)
    return found


def _compared_strings(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """Each required parameter that is compared with strings, with the source of the first of these."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    required = positional[: len(positional) - len(given.defaults)]
    required += [one for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    names = {one.arg for one in required}
    found: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=str(text))]):
                if name in names:
                    found.setdefault(name, f'"{text}"')
    return found


def _change(call: TracingCall, entries: str) -> TextChange | None:
    """The change that adds the flags to the call's ``concrete_args``; None if the call does not pass them as a dict."""
    match call.concrete_args:
        case ast.Constant(value=None) as none:
            return call.source.replaced(none, f"{{{entries}}}")
        case None:
            return call.source.behind(call.root, f", concrete_args={{{entries}}}")
        case ast.Dict(values=[*_, last]):
            return call.source.behind(last, f", {entries}")
    return None
