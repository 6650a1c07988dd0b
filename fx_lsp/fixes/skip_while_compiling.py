"""Leave out a call that only prints or logs while ``torch.compile`` captures the program."""

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

_LOGGERS = ("log", "logger", "logging", "warnings")


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the innermost editable expression is in a statement that does nothing but print or log.

    The graph may break further in, in the library that logs.
    """
    for source, node in itertools.islice(editable(failure.chain, read), 1):
        statement = source.statement(node)
        match statement:
            case ast.Expr(value=ast.Call(func=function)) if _is_log(function) and _is_alone(source, statement):
                torch = imported(source, "torch")
                guard = f"if not {torch.name}.compiler.is_compiling():"
                if statement.lineno == statement.end_lineno:
                    guard = f"{guard}\n{source.indent(statement)}    "
                else:  # in a string, other white space would be another string
                    guard = f"{guard} "
                title = f"Leave `{ast.unparse(function)}` out while compiling"
                yield Fix(title, (*torch.changes, source.before(statement, guard)))


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
