"""Tells what the text does with what a call returns, if it takes the result apart: ``self.name, norm = build(…)``."""

from __future__ import annotations

import ast
import dis
import functools
import itertools
import linecache
from collections.abc import Iterator
from types import FrameType

_UNPACK = dis.opmap["UNPACK_SEQUENCE"]

_NAMES_FIRST = frozenset({"add_module", "register_module", "register_buffer", "register_parameter"})
"""Methods whose first argument is the name of an attribute."""

_NAMES_SECOND = frozenset({"getattr", "setattr", "hasattr", "delattr"})
"""Functions whose second argument is the name of an attribute."""

_Target = ast.Name | ast.Attribute


def targets_of(frame: FrameType) -> list[bool]:
    """One item for each target that ``frame`` is assigning the items of a value to.

    The item is whether the text uses the target only as the name of an attribute, which is therefore a string. Empty if
    the frame does not take a value apart, or not at a place that the text shows.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    if at < 0 or code[at] != _UNPACK:
        return []
    count = code[at + 1]
    tree = _tree(frame.f_code.co_filename)
    around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Tuple(elts=targets, ctx=ast.Store()) | ast.List(elts=targets, ctx=ast.Store()):
                if len(targets) == count and node.lineno <= frame.f_lineno <= (node.end_lineno or 0):
                    return [_is_only_a_name(target, around) for target in targets]
    return [False] * count


@functools.lru_cache(maxsize=16)
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _is_only_a_name(target: ast.expr, around: dict[ast.AST, ast.AST]) -> bool:
    """Whether the function (for ``self.x``, the class) reads ``target``, and does so only to name an attribute."""
    if not isinstance(target, _Target):
        return False
    scopes = (ast.ClassDef,) if isinstance(target, ast.Attribute) else (ast.FunctionDef, ast.AsyncFunctionDef)
    scope: ast.AST | None = target
    while scope is not None and not isinstance(scope, scopes):
        scope = around.get(scope)
    if scope is None:
        return False
    text = ast.unparse(target)
    reads = [
        node
        for node in ast.walk(scope)
        if isinstance(node, _Target) and isinstance(node.ctx, ast.Load) and ast.unparse(node) == text
    ]
    names = [*itertools.chain.from_iterable(_names(node) for node in ast.walk(scope) if isinstance(node, ast.Call))]
    return bool(reads) and all(any(read is name for name in names) for read in reads)


def _names(call: ast.Call) -> Iterator[ast.expr]:
    """The argument of ``call`` that is the name of an attribute."""
    match call:
        case ast.Call(func=ast.Attribute(attr=method), args=[name, *_]) if method in _NAMES_FIRST:
            yield name
        case ast.Call(func=ast.Name(id=function), args=[_, name, *_]) if function in _NAMES_SECOND:
            yield name
