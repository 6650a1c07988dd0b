"""Check what depends on the inputs when the graph runs: ``torch._assert``, which is recorded, for what isn't.

``if bad: raise E(message)`` and ``assert good, message`` become ``torch._assert(good, message)``. What was raised
becomes an ``AssertionError``, and the text must be plain: it is written into the graph.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes import Fix, ReadText
from fx_lsp.fixes.conditions import Conditions
from fx_lsp.fixes.imports import imported
from fx_lsp.fixes.source import Source, failing

_WAYS_OUT = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
"""What can leave a block before its end."""


@dataclass(frozen=True)
class _Check:
    """What a guard or an ``assert`` checks."""

    conditions: list[str]
    """What must hold; empty where that can't be recorded."""
    message: ast.expr | None
    before: str = ""
    """What was decided while tracing, and must be true for the check to be made."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix where the failing expression is (a part of) the condition of a guard or of an ``assert``."""
    found = failing(failure, read)
    if found is None:
        return
    source, node = found
    statement, torch = source.statement(node), imported(source, "torch")
    check = _check(source, statement, node, Conditions(source, torch.name))
    if check is not None and check.conditions:
        text = "\n".join(_lines(source, statement, check, torch.name))
        text = text.replace("\n", f"\n{source.indent(statement)}")
        yield Fix(f"Check with {torch.name}._assert", (*torch.changes, source.replaced(statement, text)))


def _check(source: Source, statement: ast.stmt, node: ast.expr, conditions: Conditions) -> _Check | None:
    if source.indent(statement).strip():  # not the first on its line
        return None
    match statement:
        case ast.Assert(test=test, msg=message) if source.contains(test, node):
            return _Check(conditions.required(test), message)
        case ast.If(test=test, body=body, orelse=[]) if source.contains(test, node) and raises(body):
            is_elif = source.text.startswith("elif", source.offsets(statement)[0])
            return None if is_elif else _guard(source, test, node, conditions, _message(body[-1]))
    return None


def raises(block: Sequence[ast.stmt]) -> bool:
    """Whether ``block`` ends in an error, whatever it does before."""
    match block[-1:]:
        case [ast.Raise() | ast.Assert(test=ast.Constant(value=False))]:
            pass
        case [ast.Expr(value=ast.Call(func=ast.Attribute(attr="_assert"), args=[ast.Constant(value=False), *_]))]:
            pass
        case _:
            return False
    return not any(isinstance(node, _WAYS_OUT) for statement in block for node in ast.walk(statement))


def _guard(
    source: Source, test: ast.expr, node: ast.expr, conditions: Conditions, message: ast.expr | None
) -> _Check | None:
    """What ``if test: raise`` checks. Of ``a and b``, where only the last fails, the first is left to decide."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        *first, last = test.values
        if source.contains(last, node):
            return _Check(conditions.excluded(last), message, conditions.conjunction(first))
    return _Check(conditions.excluded(test), message)


def _message(statement: ast.stmt) -> ast.expr | None:
    """What a statement that is sure to raise says."""
    match statement:
        case ast.Raise(exc=ast.Call(args=[message, *_])) | ast.Assert(msg=ast.expr() as message):
            return message
        case ast.Expr(value=ast.Call(args=[_, message, *_])):
            return message
    return None


def _lines(source: Source, statement: ast.stmt, check: _Check, torch: str) -> Iterator[str]:
    """The comments of ``statement``, and the checks in its place."""
    yield from source.comments(statement)
    if check.before:
        yield f"if {check.before}:"
    for condition in check.conditions:
        message = _plain_text(source, check.message) or _quoted(" ".join(condition.split()))
        yield f"{'    ' if check.before else ''}{torch}._assert({condition}, {message})"


def _plain_text(source: Source, message: ast.expr | None) -> str | None:
    """A message as text that depends on no value: a template keeps its braces, unfilled."""
    match message:
        case ast.Constant(value=str()):
            return source.slice(message)
        case ast.JoinedStr(values=parts):
            return _quoted("".join(_unfilled(part) for part in parts))
        case ast.BinOp(left=ast.Constant() | ast.JoinedStr() as template, op=ast.Mod()):
            return _plain_text(source, template)
        case ast.Call(func=ast.Attribute(value=ast.Constant() as template, attr="format")):
            return _plain_text(source, template)
    return None


def _unfilled(part: ast.expr) -> str:
    match part:
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.Constant(value=text):
            return str(text)
    return ""


def _quoted(text: str) -> str:
    """``text`` in double quotes; what JSON escapes, Python reads."""
    return json.dumps(text, ensure_ascii=False)
