"""What a program was doing with a value when it failed, in the words of Python's grammar."""

from __future__ import annotations

import ast
import functools
import linecache

from fxcore.bytecode import is_call, operand_offset, raising_truth
from fxcore.source import Place, span_at


def operation_at(place: Place) -> str:
    """What the instruction at ``place`` does, e.g. ``if``, ``and``, ``star``, ``slice``; for a call the called name.

    - a truth is asked: ``if``, ``guard`` (an ``if`` that raises), ``while``, ``assert``, ``and``, ``or``, ``not``,
      ``conditional`` (``a if x else b``), ``comparison`` (a chained one), ``in``;
    - items are asked: ``for``, ``comprehension``, ``star`` (``*x``), ``double-star`` (``**x``), ``unpacking``;
    - a number or a text: ``index``, ``slice``, ``format``, ``operator``;
    - ``return``, and the called name or dotted name (``max``, ``torch.ones``).

    ``""`` where it is none of these, or its source text isn't to be had.
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
    """The name or dotted name that the call at ``place`` calls; that of ``f`` for ``f(x)(y)``. ``""`` for no such."""
    found = _syntax_at(place)
    return _called(found[0]) if found is not None and isinstance(found[0], ast.Call) else ""


def _syntax_at(place: Place) -> tuple[ast.AST, ast.AST] | None:
    span = span_at(*place)
    if span is None:
        return None
    return _syntax("".join(linecache.getlines(span.file))).get((span.line, span.col, span.end_line, span.end_col))


@functools.lru_cache(maxsize=8)
def _syntax(source: str) -> dict[tuple[int, int, int, int], tuple[ast.AST, ast.AST]]:
    """For each range of source the outermost expression, or else the statement, that it is, and its parent."""
    found: dict[tuple[int, int, int, int], tuple[ast.AST, ast.AST]] = {}
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return found
    for parent in ast.walk(tree):
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
    """What the expression itself asks for of the values in it."""
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
    """What takes up the value of the expression."""
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
