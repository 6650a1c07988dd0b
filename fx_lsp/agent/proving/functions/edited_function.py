"""Finds the function that an edit changes, which can be run alone if the program that it is a part of can't.

It counts only if, apart from new imports and new functions of the module, the edit changes nothing else.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from fx_lsp.agent.running.observation import modules_of

_PLAIN = (int, float, str, tuple, list, type(None))
"""The types of values by which a program sets up a module."""


def changed_function(old: str, new: str, line: int) -> str | None:
    """The qualified name of the only function that an edit from ``old`` to ``new`` changes.

    If the edit only adds something, such as ``torch.fx.wrap("len")``, this is the function with ``line`` of ``old``.
    None if there is no such function, or if the edit changes something else.
    """
    before, after = ast.parse(old), ast.parse(new)
    kept = {(name, ast.dump(node)) for name, node in functions_of(after.body)}  # a property has several of one name
    changed = [(name, node) for name, node in functions_of(before.body) if (name, ast.dump(node)) not in kept]
    around = [
        (name, node)
        for name, node in functions_of(before.body)
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if len(changed) > 1 or not (found := changed or around[:1]):
        return None
    name = found[0][0]
    both = [node for tree in (before, after) for other, node in functions_of(tree.body) if other == name]
    if any(isinstance(part, ast.Global | ast.Nonlocal) for node in both for part in ast.walk(node)):
        return None
    return name if _without(before, name) == _without(_without_additions(before, after), name) else None


def functions_of(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a module and the methods of its classes, with their qualified names."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions_of(node.body, f"{prefix}{node.name}.")


def _without(module: ast.Module, name: str) -> str:
    """The text of a module with an empty function ``name``."""
    module = copy.deepcopy(module)
    for other, node in functions_of(module.body):
        if other == name:
            node.body = [ast.Pass()]
    return ast.unparse(module)


def _without_additions(old: ast.Module, new: ast.Module) -> ast.Module:
    """``new`` without the imports and functions of other names, and the calls of ``wrap``, that ``old`` lacks."""
    known = {ast.dump(node) for node in old.body}
    names = {node.id for node in ast.walk(old) if isinstance(node, ast.Name)}
    names |= {node.name for node in ast.walk(old) if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    def is_addition(node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef(name=name):
                return name not in names
            case ast.Import(names=[ast.alias(name=name, asname=None)]) if name.partition(".")[0] == "torch":
                return ast.dump(node) not in known
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                bound = {alias.asname or alias.name.partition(".")[0] for alias in aliases}
                return ast.dump(node) not in known and bound.isdisjoint(names)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="wrap"))):
                return ast.dump(node) not in known
        return False

    return ast.Module([node for node in new.body if not is_addition(node)], [])


def function_in(program: Callable[..., Any], namespace: Mapping[str, Any], file: str, name: str) -> Any:
    """The function ``name`` of a file: a method of one of the modules of ``program``, or a function of the file.

    None if there is none, or if it is the method of several modules that are not alike.
    """
    short = name.rpartition(".")[2]
    if owners := [owner for owner in modules_of(program) if _is_from(getattr(type(owner), short, None), file, name)]:
        first, *others = map(settings_of, owners)
        return None if any(other != first for other in others) else getattr(owners[0], short)
    modules = [vars(module) for module in [*sys.modules.values()] if getattr(module, "__file__", None) == file]
    return next((known[name] for known in (namespace, *modules) if _is_from(known.get(name), file, name)), None)


def is_whole(function: Callable[..., Any], program: Callable[..., Any]) -> bool:
    """Whether ``function`` is all of the ``program``, or the ``forward`` of a program that is a module."""
    return function in (program, getattr(program, "forward", None))


def settings_of(module: torch.nn.Module) -> list[tuple[Any, ...]]:
    """What may have two modules of a class do different things: the classes of their parts, and their plain values."""
    return [
        (type(part), [(name, repr(value)) for name, value in vars(part).items() if isinstance(value, _PLAIN)])
        for part in module.modules()
    ]


def _is_from(found: Any, file: str, name: str) -> bool:
    """Whether ``found`` is the function ``name`` of a file, perhaps decorated."""
    function = inspect.unwrap(found) if callable(found) else None
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == file and getattr(function, "__qualname__", None) == name
