"""Replace a check that depends on the inputs with ``torch._assert``.

This is recorded and performs the check when the graph runs.

``if bad: raise E(message)`` and ``assert good, message`` become ``torch._assert(good, message)``. The error becomes
an ``AssertionError``, and the message must be known while tracing because it is written into the graph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.documents.scopes import Function, bound_names
from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.conditions import Conditions
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression, quoted
from fx_lsp.fixes.editing.import_edits import imported

_WAYS_OUT = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
"""Nodes that can leave a block before its end."""


_PERCENT, _BRACES = re.compile(r"%[^a-zA-Z%(]*[a-zA-Z]"), re.compile(r"\{[^{}]*\}")
"""The placeholders of ``"%d" % n`` and of ``"{}".format(n)``."""


@dataclass(frozen=True)
class _Check:
    """What a guard (``if bad: raise``) or an ``assert`` checks."""

    conditions: list[str]
    """The conditions that must hold; empty if they cannot be recorded."""
    message: ast.expr | None
    before: str = ""
    """A condition that is known while tracing; the check is made only if this condition is true."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is (a part of) the condition of a guard or of an ``assert``."""
    yield from checking_fixes(source, node, "_assert", "{0}")


def checking_fixes(
    source: Source, node: ast.expr, function: str, message: str, *, of_tensors: bool = False, fills_in: bool = True
) -> Iterator[Fix]:
    """One fix that checks with this function of torch, if ``node`` is (a part of) what a guard or ``assert`` checks.

    ``message`` is a template for the function's second argument: ``{0}`` is the text as a string. ``of_tensors``: the
    function takes tensors. ``fills_in``: the text may name values that are known while tracing.
    """
    statement, torch = source.statement(node), imported(source, "torch")
    check = _check(source, statement, node, Conditions(source, torch.name, of_tensors=of_tensors))
    if check is not None and check.conditions:
        text = "\n".join(_lines(source, statement, check, f"{torch.name}.{function}", message, fills_in))
        text = text.replace("\n", f"\n{source.indent(statement)}")
        yield Fix(f"Check with {torch.name}.{function}", (*torch.changes, source.replaced(statement, text)))


def _check(source: Source, statement: ast.stmt, node: ast.expr, conditions: Conditions) -> _Check | None:
    if source.indent(statement).strip():  # not the first statement on its line
        return None
    match statement:
        case ast.Assert(test=test, msg=message) if source.contains(test, node):
            return _Check(conditions.required(test), message)
        case ast.If(test=test, body=body, orelse=[]) if source.contains(test, node) and raises(body):
            return None if source.is_elif(statement) else _guard(source, test, node, conditions, _message(body[-1]))
    return None


def raises(block: Sequence[ast.stmt]) -> bool:
    """Whether ``block`` always ends by raising an error."""
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
    """What ``if test: raise`` checks. If only the last part of ``a and b`` fails, ``if a`` stays."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        *first, last = test.values
        if source.contains(last, node):
            return _Check(conditions.excluded(last), message, conditions.conjunction(first))
    return _Check(conditions.excluded(test), message)


def _message(statement: ast.stmt) -> ast.expr | None:
    """The message of a statement that always raises."""
    match statement:
        case ast.Raise(exc=ast.Call(args=[message, *_])) | ast.Assert(msg=ast.expr() as message):
            return message
        case ast.Expr(value=ast.Call(args=[_, message, *_])):
            return message
    return None


def _lines(
    source: Source, statement: ast.stmt, check: _Check, function: str, template: str, fills_in: bool
) -> Iterator[str]:
    """The comments of ``statement``, then the calls of ``function`` that replace it."""
    yield from source.comments(statement)
    if check.before:
        yield f"if {check.before}:"
    for condition in check.conditions:
        message = _plain_text(source, check.message, fills_in) or quoted(" ".join(condition.split()))
        yield f"{'    ' if check.before else ''}{function}({condition}, {template.format(message)})"


def _plain_text(source: Source, message: ast.expr | None, fills_in: bool) -> str | None:
    """The source of ``message`` as a string that needs no traced value; None if that is not possible.

    It needs no value at all unless it ``fills_in`` some.
    """
    match message:
        case ast.Constant(value=str()):
            return source.slice(message)
        case ast.JoinedStr(values=parts):
            return _named_parts(source, parts, fills_in)
        case ast.BinOp(left=ast.Constant(value=str(template)), op=ast.Mod(), right=ast.Tuple(elts=values)):
            return _named_values(template, _PERCENT, values)
        case ast.BinOp(left=ast.Constant(value=str(template)), op=ast.Mod(), right=value):
            return _named_values(template, _PERCENT, [value])
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(template)), attr="format"), args=values):
            return _named_values(template, _BRACES, values)
    return None


def _named_parts(source: Source, parts: list[ast.expr], fills_in: bool) -> str:
    """An f-string that keeps the parts known while tracing, and has the source of every other part as text.

    If no part is left to fill in, it is a plain string.
    """
    values = [part for part in parts if isinstance(part, ast.FormattedValue)]
    known = [part for part in values if fills_in and _is_known(source, part)]
    text = ""
    for part in parts:
        if part in known:
            text += ast.unparse(ast.JoinedStr([part]))[2:-1]
            continue
        shown = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else str(ast.literal_eval(part))
        text += shown.replace("{", "{{").replace("}", "}}") if known else shown
    return f"{'f' if known else ''}{quoted(text)}"


def _is_known(source: Source, part: ast.FormattedValue) -> bool:
    """Whether ``part`` is an attribute of ``self`` or a module-level name, without a format specification."""
    value = part.value
    while isinstance(value, ast.Attribute):
        value = value.value
    is_local = any(
        isinstance(value, ast.Name) and value.id in bound_names(outer)
        for outer in source.around(part)
        if isinstance(outer, Function)
    )
    return part.format_spec is None and isinstance(value, ast.Name) and (value.id == "self" or not is_local)


def _named_values(template: str, placeholder: re.Pattern[str], values: list[ast.expr]) -> str:
    """``template`` as source, with its placeholders replaced by the source of the values if the numbers match."""
    if len(placeholder.findall(template)) != len(values):
        return quoted(template)
    names = map(ast.unparse, values)
    return quoted(placeholder.sub(lambda _: next(names), template))
