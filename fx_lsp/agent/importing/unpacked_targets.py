"""Tells what the text does with what a call returns, if it takes the result apart: ``self.name, norm = build(…)``."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FrameType

from fx_lsp.agent.frame_code import tree_of

_UNPACK = dis.opmap["UNPACK_SEQUENCE"]

_NAMES_FIRST = frozenset({"add_module", "register_module", "register_buffer", "register_parameter"})
"""Methods whose first argument is the name of an attribute."""

_NAMES_SECOND = frozenset({"getattr", "setattr", "hasattr", "delattr"})
"""Functions whose second argument is the name of an attribute."""


def targets_of(frame: FrameType) -> tuple[bool, ...]:
    """For each target that ``frame`` is unpacking a value into: whether the function uses it as an attribute's name.

    Such a target has to be a string. Empty if ``frame`` is not unpacking anything.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    if at < 0 or code[at] != _UNPACK:
        return ()
    return _targets_at(frame.f_code, frame.f_lineno, code[at + 1])


@functools.lru_cache(maxsize=1000)
def _targets_at(code: CodeType, line: int, count: int) -> tuple[bool, ...]:
    """The same for ``count`` targets at a line (from 1) of a function."""
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    function: ast.AST = (tree_of(code) if is_function else None) or ast.Pass()
    for node in ast.walk(function):
        match node:
            case ast.Tuple(elts=targets, ctx=ast.Store()) | ast.List(elts=targets, ctx=ast.Store()):
                if len(targets) == count and node.lineno <= line <= (node.end_lineno or 0):
                    names = {ast.unparse(name) for name in _attribute_names(function)}
                    return tuple(ast.unparse(target) in names for target in targets)
    return (False,) * count


def _attribute_names(function: ast.AST) -> Iterator[ast.expr]:
    """The expressions that ``function`` uses as the name of an attribute."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[name, *_]) if method in _NAMES_FIRST:
                yield name
            case ast.Call(func=ast.Name(id=called), args=[_, name, *_]) if called in _NAMES_SECOND:
                yield name
