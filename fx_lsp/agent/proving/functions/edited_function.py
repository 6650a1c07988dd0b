"""Finds the function that an edit changes, which can be run alone if the program that it is a part of can't.

It counts only if, apart from new imports and new functions of the module, the edit changes nothing else.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import torch

from fx_lsp.agent.running.observation import modules_of
from fx_lsp.agent.running.plain_values import Digest, to_plain


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
    names |= {_bound_by(node) for node in ast.walk(old) if isinstance(node, ast.alias)}

    def is_addition(node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef(name=name):
                return name not in names
            case ast.Import(names=[ast.alias(name=name, asname=None)]) if name.partition(".")[0] == "torch":
                return ast.dump(node) not in known
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                bound = {*map(_bound_by, aliases)}
                return ast.dump(node) not in known and bound.isdisjoint(names | {"*"})
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="fx") | ast.Attribute(), attr="wrap"))):
                return ast.dump(node) not in known
        return False

    return ast.Module([node for node in new.body if not is_addition(node)], [])


def _bound_by(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def function_in(
    program: Callable[..., Any],
    namespace: Mapping[str, Any],
    file: str,
    name: str,
    attributes: Collection[str] | None = None,
    *,
    of_any_object: bool = False,
) -> Any:
    """The function ``name`` of a file: a method of one of the modules of ``program``, or a function of the file.

    None if there is none, or if it is the method of several modules that are not alike. If ``attributes`` are given,
    only these have to be alike. ``of_any_object``: whether it may be a method of objects that are no modules, which is
    not bound to one; a static method always may.
    """
    short = name.rpartition(".")[2]
    if owners := [owner for owner in modules_of(program) if _is_from(getattr(type(owner), short, None), file, name)]:
        first, *others = (settings_of(owner, attributes) for owner in owners)
        return None if any(other != first for other in others) else getattr(owners[0], short)
    found = _defined_in(namespace, file, name)
    if isinstance(found, staticmethod):
        return found.__func__
    return found if of_any_object or "." not in name else None


def _defined_in(namespace: Mapping[str, Any], file: str, name: str) -> Any:
    """What a file's definition of the function ``name`` has made, a method as its class has it; None if it is gone."""
    modules = [vars(module) for module in [*sys.modules.values()] if getattr(module, "__file__", None) == file]
    for known in (namespace, *modules):
        outer, *inner = name.split(".")
        found = known.get(outer)
        for part in inner:
            found = vars(found).get(part) if isinstance(found, type) else None
        if _is_from(found, file, name):
            return found
    return None


@dataclass(frozen=True)
class Definition:
    """A function with its definition."""

    plain: FunctionType
    owner: object
    """The object whose method it is; None if it is no method."""
    tree: ast.FunctionDef
    """A syntax tree that may be changed, with the lines of its file."""
    others: Mapping[str, ast.FunctionDef]
    """All functions of the file, by qualified name."""

    @property
    def variables(self) -> set[str]:
        """The names of its variables, but for the one that holds the ``owner``."""
        code = self.plain.__code__
        names = {*code.co_varnames, *code.co_cellvars}  # a parameter that a lambda reads is among both
        return names if self.owner is None else names - {code.co_varnames[0]}

    @property
    def rebinds_owner(self) -> bool:
        """Whether a method gives its first parameter another value."""
        if self.owner is None:
            return False
        names = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        first = [*self.tree.args.posonlyargs, *self.tree.args.args][:1]
        return not first or any(node.id == first[0].arg and not isinstance(node.ctx, ast.Load) for node in names)


def definition_of(function: Callable[..., Any], *, decorated: bool = False) -> Definition | None:
    """The definition of a function or a method of an object; None if it is a generator, or a method of a class.

    ``decorated``: also that of a function whose decorators say what they decorate. The definition lacks what they do.
    """
    owner, plain = getattr(function, "__self__", None), getattr(function, "__func__", function)
    plain = inspect.unwrap(plain) if decorated else plain
    if not isinstance(plain, FunctionType) or inspect.isgeneratorfunction(plain) or isinstance(owner, type):
        return None
    code = plain.__code__
    functions = dict(functions_of(ast.parse("".join(linecache.getlines(code.co_filename))).body))
    tree = functions.get(plain.__qualname__)
    first = None if tree is None else min([tree.lineno, *(one.lineno for one in tree.decorator_list)])
    if tree is None or first != code.co_firstlineno or (tree.decorator_list and not decorated):
        return None
    return Definition(plain, owner, tree, functions)


def is_whole(function: Callable[..., Any], program: Callable[..., Any]) -> bool:
    """Whether ``function`` is all of the ``program``, or the ``forward`` of a program that is a module."""
    return function in (program, getattr(program, "forward", None))


def settings_of(module: torch.nn.Module, attributes: Collection[str] | None = None) -> list[Any]:
    """What may make two modules of a class do different things: their parts and attributes, but not their weights.

    If ``attributes`` are given, only these count, unless one of them is a method: that may read all.
    """
    if attributes is None or any(isinstance(getattr(module, name, None), MethodType) for name in attributes):
        return [type(module), *_setting([*vars(part).items()] for part in module.modules())]
    values = [(name, getattr(module, name, None)) for name in sorted(attributes)]
    parts = [settings_of(value) for _, value in values if isinstance(value, torch.nn.Module)]
    return [type(module), *_setting(values), *parts]


def _setting(values: Iterable[Any], met: tuple[int, ...] = ()) -> list[Any]:
    """Each value as what can be compared with another one: an object by its attributes, a weight by its shape."""
    return [_comparable(value, met) for value in values]


def _comparable(value: Any, met: tuple[int, ...]) -> Any:
    if isinstance(value, str | int | float | type(None)):
        return repr(value)
    if id(value) in met:
        return met.index(id(value))
    met = (*met, id(value))
    if isinstance(value, torch.nn.Parameter):
        return "weight", value.shape, value.dtype
    if isinstance(value, torch.Tensor):
        plain = to_plain(value.to_dense())
        return "buffer", value.shape, value.dtype, plain if isinstance(plain, Digest) else repr(plain.tolist())
    if isinstance(value, dict):
        return type(value), _setting(((key, item) for key, item in value.items()), met)
    if isinstance(value, list | tuple | set | frozenset):
        return type(value), _setting(value, met)
    if isinstance(value, torch.nn.Module) or not hasattr(value, "__dict__") or isinstance(value, type | FunctionType):
        return type(value) if isinstance(value, torch.nn.Module) else value
    return type(value), _setting(vars(value).items(), met)


def _is_from(found: Any, file: str, name: str) -> bool:
    """Whether ``found`` is the function ``name`` of a file, perhaps decorated."""
    function = inspect.unwrap(found) if callable(found) else None
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == file and getattr(function, "__qualname__", None) == name
