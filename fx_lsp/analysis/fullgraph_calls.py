"""Finds out what a file compiles with ``torch.compile(…, fullgraph=True)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def is_compiled_whole(tree: ast.AST, symbol: str) -> bool:
    """Whether a file compiles ``symbol``, one of its classes or functions, or an instance, with ``fullgraph=True``."""
    named = {symbol, *_instances(tree, symbol)}
    return any(_is_named(subject, named, symbol) for subject in _subjects(tree)) or any(
        _compiles_whole(decorator) for decorator in _decorators(tree, symbol)
    )


def _instances(tree: ast.AST, symbol: str) -> Iterator[str]:
    """The variables that hold an instance of the class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_name(node.value.func, symbol):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _subjects(tree: ast.AST) -> Iterator[ast.expr]:
    """What is compiled: the argument of ``torch.compile(…)``, or the module of ``module.compile(…)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _compiles_whole(node):
            yield from node.args[:1]
            if not node.args and isinstance(node.func, ast.Attribute):
                yield node.func.value


def _decorators(tree: ast.AST, symbol: str) -> Iterator[ast.expr]:
    """The decorators of the class or function, and of the class's ``forward``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == symbol:
            yield from node.decorator_list
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef) and part.name == "forward":
                    yield from part.decorator_list


def _compiles_whole(node: ast.expr) -> bool:
    """Whether ``node`` calls something named ``compile`` with ``fullgraph=True``, which only torch's functions take."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    whole = (word.value for word in node.keywords if word.arg == "fullgraph")
    return name == "compile" and any(isinstance(value, ast.Constant) and value.value is True for value in whole)


def _is_named(node: ast.expr, names: set[str], symbol: str) -> bool:
    is_instance = isinstance(node, ast.Call) and _is_name(node.func, symbol)
    return is_instance or (isinstance(node, ast.Name) and node.id in names)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
