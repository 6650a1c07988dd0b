"""What `torch_where` and `torch_cond` share: they need a branch that decides by a tensor, and only computes values.

If the condition is about a number that was read from a tensor, as in ``peak = x.max().item()`` and ``if peak > 1``, or
if the branch also logs something, these fixes edit a text in which the tensor stands for the number, and in which an
``if`` of its own logs.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import partial

from fx_lsp.agent.messages import Failure
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, parsed
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported
from fx_lsp.fixes.editing.line_changes import changes_between
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.fixes.skip_while_compiling import is_log, only_if
from fx_lsp.rules import rule_for

_OF_TENSOR = re.compile(r"Eq\([uz]\w*, 1\)|Data-dependent branching")
"""In the error of a capture that would have to read the only element of a tensor of booleans."""

FixAt = Callable[[Source, ast.expr, "bool | None"], Iterator[Fix]]
"""Finds fixes for a condition in a file; the last argument says whether that is a tensor, or is None if not known."""


def _decides_by_tensor(failure: Failure) -> bool:
    """Whether a capture could not decide by a tensor, rather than by a number."""
    return _OF_TENSOR.search(failure.error) is not None


def with_tensors(source: Source, node: ast.expr, failure: Failure, fixes: FixAt) -> Iterator[Fix]:
    """What ``fixes`` finds for ``node`` in a text whose branch reads no numbers from tensors, and does not log.

    If it does neither anyway, in the text as it is.
    """
    decision = _decision(source, node)
    if decision is None or rule_for(failure.kind).capture == "fx":
        yield from fixes(source, node, None)
        return
    exact = ".double()" if "zuf" in failure.error else ""  # Python computes with a number that is no integer in 64 bits
    numbers, logs = list(_tensors_instead(source, decision, exact)), list(_logs_apart(source, decision))
    is_tensor = bool(numbers) or _decides_by_tensor(failure)
    if not numbers and not logs:
        yield from fixes(source, node, is_tensor)
        return
    at = _decisions(source).index(decision) + bool(logs)
    (text,) = applied([*numbers, *logs], lambda path: LineIndex(source.text)).values()
    edited = parsed(source.path, text)
    for fix in fixes(edited, _decisions(edited)[at].test, is_tensor) if edited else ():
        (new,) = applied(fix.changes, lambda path: LineIndex(text)).values()
        title = f"{fix.title}, by the tensor" if numbers else fix.title
        yield Fix(title, changes_between(source.path, source.text, new))


def _tensors_instead(source: Source, decision: ast.If | ast.IfExp, exact: str) -> Iterator[TextChange]:
    """The changes by which a branch gets tensors instead of numbers; ``exact``: what makes one as exact as a number."""
    in_test = {*ast.walk(decision.test)}
    read = (part for part in in_test if isinstance(part, ast.Name) and not _is_kept(source, part))
    names = map(Values(source).only_value, read)
    parts = [*(part for part in ast.walk(decision) if isinstance(part, ast.expr)), *names]
    for value in dict.fromkeys(part for part in parts if part is not None and hasattr(part, "lineno")):
        if (tensor := _read_from(value)) is not None:
            text = source.operand(tensor)  # no gradient flows through a number, or through what compares it
            new = text + _in_comparison(decision.test, value, exact) if value in in_test else f"{text}.detach(){exact}"
            yield source.replaced(value, new)


def _in_comparison(test: ast.expr, value: ast.expr, exact: str) -> str:
    """What makes a tensor compare as a number in ``value``'s place does: 0.1 as a 32-bit tensor is larger than 0.1."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and value in (parts := [*ast.walk(node)]):
            has_fraction = any(isinstance(part, ast.Constant) and isinstance(part.value, float) for part in parts)
            return ".double()" if has_fraction else exact
    return ""


def _is_kept(source: Source, name: ast.Name) -> bool:
    """Whether the function also puts what ``name`` stands for into an object, which a proof does not compare."""
    for statement in ast.walk(source.function(name) or ast.Pass()):
        match statement:
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_], value=value) if name.id in _names(value):
                return True
    return False


def _names(value: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}


def _read_from(value: ast.expr) -> ast.expr | None:
    """The tensor of which ``value`` is the only element, as a number."""
    match value:
        case ast.Call(func=ast.Name(id="float"), args=[ast.Call() | ast.Name() as tensor], keywords=[]):
            return None if _read_from(tensor) else tensor
        case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
            return tensor
    return None


def _logs_apart(source: Source, decision: ast.If | ast.IfExp) -> Iterator[TextChange]:
    """The changes that move what a branch logs first to a branch of its own, above it; none if it only logs."""
    match decision:
        case ast.If(body=[first, *_] as body, orelse=[]) if not source.indent(decision).strip():
            logs = list(itertools.takewhile(partial(_is_log, source), body))
        case _:
            return
    is_one_line = all(one.lineno == one.end_lineno and not source.indent(one).strip() for one in (*logs, first))
    if not logs or len(logs) == len(body) or not is_one_line:
        return
    torch = imported(source, "torch")
    indent, inner = source.indent(decision), source.indent(first)
    test = only_if(source, decision.test, f"{torch.name}.compiler.is_compiling()").text
    lines = [f"if {test}:", *(f"{inner.removeprefix(indent)}{source.slice(one)}" for one in logs), ""]
    yield source.before(decision, textwrap.indent("\n".join(lines), indent).removeprefix(indent) + indent)
    for one in logs:
        start, end = source.before(one, "").span, source.below(one, "").span
        yield TextChange(type(start)(source.path, one.lineno, 0, end.line, end.col), "")


def _is_log(source: Source, statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=function)):
            return is_log(function, source)
    return False


def _decisions(source: Source) -> list[ast.If | ast.IfExp]:
    """What decides in a file, in the order of the syntax tree."""
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.If | ast.IfExp)]


def _decision(source: Source, node: ast.expr) -> ast.If | ast.IfExp | None:
    """The innermost branch, or choice, of whose condition ``node`` is a part."""
    return next((one for one in reversed(_decisions(source)) if source.contains(one.test, node)), None)
