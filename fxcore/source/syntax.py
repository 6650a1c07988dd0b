"""The syntax at a place in the program's source: the call and its callee, the statement, the operation."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
from types import FrameType, ModuleType
from typing import Any, TypeGuard

import torch

from fxcore.source.bytecode import is_call, operand_offset, raising_truth
from fxcore.source.spans import Place, SourceSpan, span_at


def operation_at(place: Place) -> str:
    """What the instruction at ``place`` does, e.g. ``if``, ``and``, ``star``, ``slice``; for a call, the called name.

    - It needs the truth of a value: ``if``, ``guard`` (an ``if`` that raises), ``while``, ``assert``, ``and``, ``or``,
      ``not``, ``conditional`` (``a if x else b``), ``comparison`` (a chained one), ``in``.
    - It needs the items of a value: ``for``, ``comprehension``, ``star`` (``*x``), ``double-star`` (``**x``),
      ``unpacking``.
    - It needs a number or a string: ``index``, ``slice``, ``format``, ``operator``.
    - Otherwise: ``return``, or the called name or dotted name (``max``, ``torch.ones``).

    ``""`` if it is none of these, or the source can't be read.
    """
    code, lasti = place
    found = _syntax_at(place)
    if found is None:
        return ""
    node, parent = found
    if isinstance(node, ast.Call) and is_call(code, lasti):
        return "star" if _has_star(node) else _called(node)
    if operand_offset(code, lasti) is None:
        return _of_expression(node)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return "comparison"
    taken_up_by = _of_parent(node, parent)
    return "guard" if taken_up_by == "if" and raising_truth(code, lasti) is not None else taken_up_by


def called_at(place: Place) -> str:
    """The name or dotted name that is called at ``place``; ``f`` for ``f(x)(y)``; ``""`` if there is none."""
    found = _syntax_at(place)
    return _called(found[0]) if found is not None and isinstance(found[0], ast.Call) else ""


def call_around(place: Place) -> ast.Call | None:
    """The call that the instruction at ``place`` makes or prepares, for example by unpacking ``*args``, if any."""
    found = _syntax_at(place)
    return found[0] if found is not None and isinstance(found[0], ast.Call) else None


def _syntax_at(place: Place) -> tuple[ast.AST, ast.AST] | None:
    span = span_at(*place)
    if span is None:
        return None
    return _syntax("".join(linecache.getlines(span.file))).get((span.line, span.col, span.end_line, span.end_col))


@functools.lru_cache(maxsize=8)
def _syntax(source: str) -> dict[tuple[int, int, int, int], tuple[ast.AST, ast.AST]]:
    """For each range of source, the outermost expression (else the statement) with that range, and its parent."""
    found: dict[tuple[int, int, int, int], tuple[ast.AST, ast.AST]] = {}
    for parent in _all_nodes(source):
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.expr | ast.stmt) and node.end_lineno and node.end_col_offset is not None:
                at = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                known = found.get(at)
                if known is None or isinstance(known[0], ast.Expr):
                    found[at] = node, parent
    return found


def _has_star(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args)


def _called(call: ast.Call) -> str:
    function: ast.expr = call
    while isinstance(function, ast.Call):
        function = function.func
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    return ".".join(reversed(parts))


def _of_expression(node: ast.AST) -> str:
    """What an expression itself does with the values in it, as `operation_at` returns it."""
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return "in"
        case ast.Tuple(ctx=ast.Store()) | ast.List(ctx=ast.Store()):
            return "unpacking"
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return "star" if any(isinstance(item, ast.Starred) for item in items) else ""
        case ast.Dict(keys=keys) if None in keys:
            return "double-star"
        case ast.Call() if _has_star(node):
            return "star"
        case ast.Call(keywords=[*_, ast.keyword(arg=None)]):
            return "double-star"
        case ast.Subscript(slice=index):
            return "slice" if any(isinstance(part, ast.Slice) for part in ast.walk(index)) else "index"
        case ast.JoinedStr() | ast.FormattedValue():
            return "format"
        case ast.BinOp():
            return "operator"
        case ast.Return():
            return "return"
    return ""


def _of_parent(node: ast.AST, parent: ast.AST) -> str:
    """What consumes the value of the expression, as `operation_at` returns it."""
    match parent:
        case ast.If(test=test) if test is node:
            return "if"
        case ast.While(test=test) if test is node:
            return "while"
        case ast.Assert(test=test) if test is node:
            return "assert"
        case ast.IfExp(test=test) if test is node:
            return "conditional"
        case ast.BoolOp(op=ast.And()):
            return "and"
        case ast.BoolOp():
            return "or"
        case ast.UnaryOp(op=ast.Not()):
            return "not"
        case ast.For(iter=items) | ast.AsyncFor(iter=items) if items is node:
            return "for"
        case ast.comprehension(iter=items):
            return "comprehension" if items is node else "if"
    return ""


def call_at(place: Place, name: str) -> ast.Call | None:
    """The call to ``name(…)`` at a place; None if there is none, or the source can't be read."""
    span = span_at(*place)
    if span is None:
        return None
    calls = (node for node in _all_nodes(f"({text_at(span)})") if isinstance(node, ast.Call))
    return next((call for call in calls if _last_name(call.func) == name), None)


def statement_at(place: Place) -> ast.stmt | None:
    """The innermost statement around a place; None if the source can't be read."""
    span = span_at(*place)
    found: ast.stmt | None = None
    for node in _all_nodes("".join(linecache.getlines(span.file))) if span else ():
        if not isinstance(node, ast.stmt) or span is None:
            continue
        if node.lineno <= span.line and span.end_line <= (node.end_lineno or 0):
            found = node  # outer statements come first
    return found


def handles_errors(frame: FrameType, error: Exception | None = None) -> bool:
    """Whether ``frame`` is within a ``try`` with handlers, or ``contextlib.suppress``; False without its source.

    If there is an ``error``, those are left out that handle other errors only, or raise another one.
    """
    if not getattr(frame.f_code, "co_exceptiontable", True):  # since Python 3.11
        return False
    blocks = _handling("".join(linecache.getlines(frame.f_code.co_filename)))
    line = frame.f_lineno or 0
    return any(
        block.body[0].lineno <= line <= (block.body[-1].end_lineno or 0)
        and (error is None or _handles(block, error, frame))
        for block in blocks
    )


@functools.lru_cache(maxsize=32)
def _handling(source: str) -> tuple[ast.Try | ast.With, ...]:
    return tuple(node for node in _all_nodes(source) if _is_handler(node))


def _is_handler(node: ast.AST) -> TypeGuard[ast.Try | ast.With]:
    match node:
        case ast.Try(handlers=handlers):
            return bool(handlers)
        case ast.With(items):
            return bool(_suppressions(items))
    return False


def _suppressions(items: list[ast.withitem]) -> list[ast.Call]:
    calls = (item.context_expr for item in items if isinstance(item.context_expr, ast.Call))
    return [call for call in calls if _last_name(call.func) == "suppress"]


def _handles(block: ast.Try | ast.With, error: Exception, frame: FrameType) -> bool:
    """Whether ``block`` handles ``error``, so that the program goes on; true if that is not known."""
    if isinstance(block, ast.With):
        return any(_is_one_of(error, call.args, frame) for call in _suppressions(block.items))
    for handler in block.handlers:
        if handler.type is None or _is_one_of(error, [handler.type], frame):
            return not isinstance(handler.body[-1], ast.Raise)
    return False


def _is_one_of(error: Exception, classes: list[ast.expr], frame: FrameType) -> bool:
    names = [name for cls in classes for name in (cls.elts if isinstance(cls, ast.Tuple) else [cls])]
    values = [_named(frame, ast.unparse(name)) for name in names]
    return any(not isinstance(value, type) or isinstance(error, value) for value in values)


def span_of_syntax(file: str, line: int, col: int, end_col: int | None) -> SourceSpan | None:
    """The range of the expression or statement that begins and ends there, if only its last line is not known.

    Of a statement with a condition or items, e.g. ``if`` or ``for``, it is these: an instruction that jumps because of
    a condition that doesn't compare has the range of the whole statement. If ``end_col`` is not known either, only such
    statements are looked for. None if there is no such syntax.
    """
    for node in _all_nodes("".join(linecache.getlines(file))):
        if not isinstance(node, ast.expr | ast.stmt) or (node.lineno, node.col_offset) != (line, col):
            continue
        asked = _asked_by(node)
        if node.end_col_offset == end_col or (end_col is None and isinstance(node, ast.stmt) and asked is not node):
            end_line, end = asked.end_lineno or asked.lineno, asked.end_col_offset or 0
            return SourceSpan(file, asked.lineno, end_line, asked.col_offset, end)
    return None


def _asked_by(node: ast.expr | ast.stmt) -> ast.expr | ast.stmt:
    """The condition or the items that a statement takes; any other node itself."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return node.test
    return node.iter if isinstance(node, ast.For | ast.AsyncFor) else node


def text_at(span: SourceSpan) -> str:
    """The source text of a span; empty if the file can't be read."""
    lines = [line.encode() for line in linecache.getlines(span.file)[span.line - 1 : span.end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_col]
    lines[0] = lines[0][span.col :]
    return b"".join(lines).decode()


def _last_name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


@functools.lru_cache(maxsize=8)
def _all_nodes(source: str) -> tuple[ast.AST, ...]:
    """All nodes of the source's syntax tree, outer ones first; none if it isn't valid Python."""
    try:
        return tuple(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return ()


def callee_at(frame: FrameType, lasti: int) -> str:
    """The `callee_name` of what ``frame`` calls at offset ``lasti``; if that is unknown, the name in the source."""
    written = called_at((frame.f_code, lasti))
    return callee_name(_named(frame, written)) or written


def calls_torch_cpp(frame: FrameType, lasti: int) -> bool:
    """Whether ``frame`` calls torch's C++ code at ``lasti``; an unknown callee counts if a tensor has such a method."""
    written = called_at((frame.f_code, lasti))
    value = _named(frame, written)
    if value is None:
        return bool(written) and callable(getattr(torch.Tensor, written.rpartition(".")[2], None))
    return not hasattr(value, "__code__") and callee_name(value).startswith("torch.")


def _named(frame: FrameType, written: str) -> Any:
    """What a dotted name refers to in ``frame``; None if finding out would require running code."""
    first, *attributes = written.split(".")
    value: Any = {**vars(builtins), **frame.f_globals, **frame.f_locals}.get(first)
    for attribute in attributes:
        if not isinstance(value, ModuleType | type):  # reading an attribute of anything else may run code
            return None
        value = inspect.getattr_static(vars(value).get("__wrapped__", value), attribute, None)
    return value


def callee_name(function: Any) -> str:
    """The package and the name of a function, e.g. ``torch.ones``, ``numpy.sqrt``; a tensor's method: ``torch.expand``.

    ``""`` if the function has no name. Python's builtins have no package: ``divmod``.
    """
    name = getattr(function, "__name__", "")
    if not isinstance(name, str) or not name:
        return ""
    owner = getattr(function, "__objclass__", None) or getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or getattr(owner, "__module__", None) or type(function).__module__
    package = str(module).partition(".")[0]
    return name if package == "builtins" else f"{package}.{name}"
