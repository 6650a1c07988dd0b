"""Leave out what only prints or logs while ``torch.compile`` or ``torch.export`` captures the program."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.import_edits import imported

_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})
"""The methods of a logger that write, and ``warnings.warn``."""

_OF_COMPILE = ("graph-break", "compile-error")
"""The kinds of the failures of ``torch.compile``; the others are those of ``torch.export``."""

_LOGGERS = ("log", "logger", "logging", "warnings")


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the innermost editable expression is in a statement that does nothing but print or log, or in the
    condition of an ``if`` with only such statements.

    The graph may break further in, in the library that logs.
    """
    for source, node in itertools.islice(editable(failure.chain, read), 1):
        statement, doing = source.statement(node), "compiling" if failure.kind in _OF_COMPILE else "exporting"
        match statement:
            case ast.If(test=test, body=body, orelse=[]) if source.contains(test, node) and (logs := _logs(body)):
                torch = imported(source, "torch")
                first = f"not {torch.name}.compiler.is_compiling() and "
                text = source.slice(test)
                is_loose = isinstance(test, (ast.IfExp, ast.Lambda, ast.NamedExpr, ast.BoolOp)) and not _is_and(test)
                change = source.replaced(test, f"{first}({text})" if is_loose else f"{first}{text}")
                yield Fix(f"Leave `{logs}` out while {doing}", (*torch.changes, change))
            case ast.Expr(value=ast.Call(func=function)) if _is_log(function) and _is_alone(source, statement):
                torch = imported(source, "torch")
                guard = f"if not {torch.name}.compiler.is_compiling():"
                if statement.lineno == statement.end_lineno:
                    guard = f"{guard}\n{source.indent(statement)}    "
                else:  # in a string, other white space would be another string
                    guard = f"{guard} "
                title = f"Leave `{ast.unparse(function)}` out while {doing}"
                yield Fix(title, (*torch.changes, source.before(statement, guard)))


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
