"""An argument of the traced function that is a flag, as a fixed one: ``concrete_args`` of the call that traces it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes import Fix, ReadText, TextChange
from fx_lsp.fixes.source import Source, failing
from fx_lsp.names import first_callee
from fx_lsp.scopes import Place


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix where a parameter of the root with a constant for a default decides, and this file traces the root."""
    found = failing(failure, read)
    if found is None or len(failure.chain) != 1:
        return
    source, node = found
    function = source.function(node)
    defaults = _constant_defaults(function) if function else {}
    flags = sorted({inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in defaults})
    if function is None or not flags:
        return
    class_ = source.enclosing_class(function)
    given = {flag: defaults[flag] for flag in flags}
    changes = tuple(_calls(source, class_.name if class_ else function.name, given))
    if changes:
        settings = ", ".join(f"{flag}={value}" for flag, value in given.items())
        yield Fix(f"Trace with {settings}", changes)


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


def _calls(source: Source, root: str, given: dict[str, str]) -> Iterator[TextChange]:
    """What to add to each call of ``symbolic_trace`` that traces ``root``."""
    for call, place in source.names.calls:
        if (source.names.qualified(call.func) or "").rpartition(".")[2] != "symbolic_trace" or not call.args:
            continue
        if _traced(source, call.args[0], place) != root:
            continue
        concrete = next((keyword.value for keyword in call.keywords if keyword.arg == "concrete_args"), None)
        entries = ", ".join(f'"{flag}": {value}' for flag, value in given.items())
        match call.args, concrete:
            case [first], None:
                yield source.behind(first, f", concrete_args={{{entries}}}")
            case [_], ast.Dict(values=[*_, last]):
                yield source.behind(last, f", {entries}")


def _traced(source: Source, root: ast.expr, place: Place) -> str | None:
    """The class or function of this file that is traced: ``Net`` for ``Net()``, or where ``net = Net()`` was before.

    Where a function builds it, that must say what it returns.
    """
    if isinstance(root, ast.Name):
        binding = source.names.binding(root.id, place)
        match binding.statement if binding else None:
            case ast.Assign(value=value):
                root = value
    named = first_callee(root) or root
    if not isinstance(named, ast.Name):
        return None
    for statement in source.tree.body if isinstance(root, ast.Call) else ():
        match statement:
            case ast.FunctionDef(name=named.id, returns=ast.Name(id=built)):
                return built
    return named.id
