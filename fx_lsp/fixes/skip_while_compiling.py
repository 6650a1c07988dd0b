"""Leave out what only prints, logs or shows progress while ``torch.compile`` or ``torch.export`` captures."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.import_edits import imported

_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})
"""The methods of a logger that write, and ``warnings.warn``."""

_OF_COMPILE = ("graph-break", "compile-error")
"""The kinds of the failures of ``torch.compile``; the others are those of ``torch.export``."""

_LOGGERS = ("log", "logger", "logging", "warnings")

_PROGRESS = re.compile(r"tqdm(\.(auto|std|notebook))?\.(tqdm|trange)|rich\.progress\.track")
"""Functions that show the progress of a loop."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the innermost editable expression shows the progress of a loop, or is in a statement that does nothing
    but print or log, or in the condition of an ``if`` with only such statements.

    The graph may break further in, in the library that logs.
    """
    for source, node in itertools.islice(editable(failure.chain, read), 1):
        torch, doing = imported(source, "torch"), "compiling" if failure.kind in _OF_COMPILE else "exporting"
        for function, change in _changes(source, node, f"{torch.name}.compiler.is_compiling()"):
            yield Fix(f"Leave `{function}` out while {doing}", (*torch.changes, change))


def _changes(source: Source, node: ast.expr, is_compiling: str) -> Iterator[tuple[str, TextChange]]:
    """At most one function that is left out, and the change; ``is_compiling`` is the condition."""
    match node, source.statement(node):
        case ast.Call() as shown, _ if items := _without_progress(source, shown):
            choice = f"{items} if {is_compiling} else {source.slice(shown)}"
            yield ast.unparse(shown.func), source.with_operation(shown, choice)
        case _, ast.If(test=test, body=body, orelse=[]) if source.contains(test, node) and (logs := _logs(body)):
            text = source.slice(test)
            is_loose = isinstance(test, (ast.IfExp, ast.Lambda, ast.NamedExpr, ast.BoolOp)) and not _is_and(test)
            yield logs, source.replaced(test, f"not {is_compiling} and {f'({text})' if is_loose else text}")
        case _, ast.Expr(value=ast.Call(func=log)) as statement if _is_log(log) and _is_alone(source, statement):
            is_one_line = statement.lineno == statement.end_lineno  # in a string, other white space would change it
            space = f"\n{source.indent(statement)}    " if is_one_line else " "
            yield ast.unparse(log), source.before(statement, f"if not {is_compiling}:{space}")


def _without_progress(source: Source, call: ast.Call) -> str:
    """What a loop iterates over whose progress ``call`` shows; empty for another call."""
    name, around = source.names.qualified(call.func) or "", source.parent(call)
    if isinstance(around, ast.Call) and isinstance(around.func, ast.Name) and around.func.id in ("enumerate", "zip"):
        around = source.parent(around)
    is_of_loop = isinstance(around, ast.For | ast.comprehension) and source.contains(around.iter, call)
    is_plain = bool(call.args) and not any(isinstance(item, ast.Starred) for item in call.args)
    if not (is_of_loop and is_plain and _PROGRESS.fullmatch(name)):
        return ""
    if name.endswith("trange"):
        return f"range({', '.join(map(source.slice, call.args))})"
    return source.operand(call.args[0])


def _logs(body: list[ast.stmt]) -> str:
    """The first function that ``body`` calls, if it does nothing but print or log; else empty."""
    calls = [one.value for one in body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    are_logs = len(calls) == len(body) and all(_is_log(call.func) for call in calls)
    return ast.unparse(calls[0].func) if are_logs else ""


def _is_and(test: ast.expr) -> bool:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _is_alone(source: Source, statement: ast.stmt) -> bool:
    """Whether no other statement shares a line with this one: a condition in front would apply to that one, too."""
    ends = {statement.lineno, statement.end_lineno}
    beside = [item for item in source.block(statement) if ends & {item.lineno, item.end_lineno}]
    return beside == [statement] and not source.indent(statement).strip()


def _is_log(function: ast.expr) -> bool:
    match function:
        case ast.Name(id="print"):
            return True
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr="getLogger")), attr=method):
            return method in _LEVELS
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method):
            return method in _LEVELS and name.strip("_").lower() in _LOGGERS
    return False
