"""Finds the functions of a program that give a variable or an attribute a value, from their source."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from types import CodeType, FunctionType

from fx_lsp.agent.frame_code import tree_of

_FILLS = r"(\[[^\]]*\] =(?!=)|\.(append|extend|insert|add|add_module|update|setdefault)\()"
"""What follows the name of a container to which something is added."""

_ADDS = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
"""The methods of modules that set an attribute."""


def setter(
    functions: Sequence[FunctionType], name: str, running: Collection[CodeType], *, is_global: bool
) -> str | None:
    """The first of ``functions`` that gives an attribute or a global variable a value, unless it is ``running``."""
    for function in functions:
        code = function.__code__
        if code in running or name not in (*code.co_names, *code.co_consts):
            continue
        nodes = list(ast.walk(tree_of(code) or ast.Module([], [])))
        is_declared = any(isinstance(node, ast.Global) and name in node.names for node in nodes)
        if is_declared == is_global and any(sets(node, name) for node in nodes):
            return function.__name__
    return None


def sets(node: ast.AST, name: str) -> bool:
    """Whether a statement or a call sets a variable or an attribute to something other than None."""
    match node:
        case ast.Assign(targets=targets, value=value):
            parts = [part for target in targets for part in ast.walk(target)]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            parts = [target]
        case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=text), value, *_]):
            return method in _ADDS and text == name and not _is_none(value)
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=text), value]):
            return text == name and not _is_none(value)
        case _:
            return False
    is_set = any(name in (getattr(part, "attr", ""), getattr(part, "id", "")) for part in parts if _is_stored(part))
    return is_set and not _is_none(value)


def _is_stored(part: ast.AST) -> bool:
    return isinstance(getattr(part, "ctx", None), ast.Store)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def filler(functions: Sequence[FunctionType], name: str, running: Collection[CodeType]) -> str | None:
    """The first of ``functions`` that adds something to the container ``name``, unless it is ``running``."""
    fills = re.compile(rf"\b{re.escape(name)}{_FILLS}")
    for function in functions:
        code = function.__code__
        tree = tree_of(code) if name in code.co_names and code not in running else None
        if tree is not None and fills.search(ast.unparse(tree)):
            return function.__name__
    return None
