"""Recognizes attributes that an instance of the program never gets: ``self.transposed``, which no code ever sets."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from traceback import walk_tb

import torch

from fx_lsp.agent.missing.named_files import workspace_files

MOST_FILES = 3000
"""In a workspace with more files, these are not read: some file may set any attribute."""

_SETTERS = frozenset({"setattr", "vars", "locals", "exec", "eval"})
"""Functions that may set an attribute without its name."""

_DICTIONARIES = frozenset(
    {"__dict__", "__class__", "__setattr__", "__setstate__", "__getattr__", "__getattribute__"}
    | {"_modules", "_parameters", "_buffers"}
)
"""Attributes that may hold others, or compute them."""

_REGISTERS = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
"""Methods that set the attribute that their first argument names."""

_ONLY_LOOKS = frozenset({"super", "isinstance", "hasattr", "getattr", "type", "len", "id", "repr", "str", "print"})
"""Functions that set nothing on an object that is passed to them."""

_HARMLESS = frozenset(
    {"property", "getter", "setter", "deleter", "staticmethod", "classmethod", "abstractmethod", "override", "overload"}
    | {"no_grad"}
)
"""Decorators that run no code of their own that sets attributes."""


def lacking(error: AttributeError) -> tuple[object, str | None]:
    """The object that lacks an attribute, and the attribute's name; ``(None, None)`` if the error shows neither."""
    *_, last = [None, *(frame for frame, _ in walk_tb(error.__traceback__))]
    if last is not None and last.f_code.co_name == "__getattr__" and last.f_code.co_argcount == 2:
        owner, name = (last.f_locals.get(argument) for argument in last.f_code.co_varnames[:2])
        return owner, str(name)  # an error that a `__getattr__` raises itself has neither
    return error.obj, error.name


def is_absent(owner: object, name: str | None, belongs: Callable[[str], bool], folders: Sequence[str] = ()) -> bool:
    """Whether no instance of the class of ``owner`` ever has an attribute ``name``.

    That is so if the class has no bases but modules of the program and ``nn.Module``, if their code can't set the
    attribute, and if no other code of the workspace has a subclass of it, which may set the attribute, or sets one of
    that name on another object. ``belongs`` says which files are the program's; ``folders`` are the workspace's.
    """
    if name is None or not isinstance(owner, torch.nn.Module) or type.__subclasses__(type(owner)):
        return False
    bases = [cls for cls in type(owner).__mro__ if cls not in (torch.nn.Module, object)]
    if any(not belongs(_file_of(cls)) or name in vars(cls) for cls in bases):
        return False
    if any(_may_set(cls, name) for cls in bases):
        return False
    texts = _texts(belongs, folders)
    return texts is not None and not any(_may_be_set_in(text, type(owner).__name__, name) for text in texts)


def _file_of(cls: type) -> str:
    return getattr(sys.modules.get(cls.__module__), "__file__", None) or ""


def _may_set(cls: type, name: str) -> bool:
    """Whether the code of a class, or what that passes its instance to, may set the attribute ``name``."""
    try:
        (definition,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(cls))).body
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError):
        return True
    if not isinstance(definition, ast.ClassDef) or definition.decorator_list or definition.keywords:
        return True
    functions = [node for node in ast.walk(definition) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    decorators = [decorator for function in functions for decorator in function.decorator_list]
    return (
        not all(_last_name(decorator) in _HARMLESS for decorator in decorators)
        or any(_sets(node, name) for node in ast.walk(definition))
        or any(map(_passes_instance, functions))
    )


def _last_name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _sets(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
            return attr == name or attr in _DICTIONARIES
        case ast.Call(func=ast.Attribute(attr=method), args=arguments) if method in _REGISTERS:
            return not arguments or not isinstance(arguments[0], ast.Constant)
        case ast.Attribute(attr=attr):
            return attr in _DICTIONARIES
        case ast.FunctionDef(name=method):
            return method in _DICTIONARIES
        case ast.Name(id=function):
            return function in _SETTERS
        case ast.AnnAssign(target=ast.Name(id=declared)):
            return declared == name
        case ast.Constant(value=str(text)):
            return text == name
    return False


def _passes_instance(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method uses its instance for more than its attributes: what it is passed to may set others."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if not parameters:
        return False
    harmless: set[int] = set()
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name() as value):
                harmless.add(id(value))
            case ast.Call(func=ast.Name(id=called), args=arguments) if called in _ONLY_LOOKS:
                harmless.update(map(id, arguments))
            case ast.Call(func=ast.Attribute(attr="__init__"), args=arguments):
                harmless.update(map(id, arguments))
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == parameters[0].arg)
    return any(id(node) not in harmless for node in names)


def _texts(belongs: Callable[[str], bool], folders: Sequence[str]) -> Iterator[str] | None:
    """The texts of the program's files, as they were loaded, and those of the workspace; None if these are too many."""
    modules = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    loaded = {file for file in modules if isinstance(file, str) and belongs(file)}
    others = {str(path) for path in workspace_files(folders) if path.suffix == ".py"} - loaded
    if len(others) > MOST_FILES:
        return None
    return ("".join(linecache.getlines(file)) if file in loaded else _text(file) for file in (*loaded, *others))


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _may_be_set_in(text: str, cls: str, name: str) -> bool:
    """Whether a file has a subclass of ``cls``, or code that may set the attribute ``name`` of an instance."""
    mentions_class = re.search(rf"\b{re.escape(cls)}\b", text) is not None
    if not mentions_class and name not in text:
        return False
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_may_set_from_outside(node, cls, name, mentions_class) for node in nodes)


def _may_set_from_outside(node: ast.AST, cls: str, name: str, mentions_class: bool) -> bool:
    match node:
        case ast.ClassDef(bases=bases):
            return any(_last_name(base) == cls for base in bases)
        case ast.Attribute(attr=attr, value=value, ctx=ast.Store() | ast.Del()) if attr == name:
            return not _is_instance(value)
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=text), *_]):
            return text == name and not _is_instance(owner)
        case ast.Call(func=ast.Name(id="setattr" | "vars"), args=[owner, *_]):
            return mentions_class and not _is_instance(owner)
        case ast.Attribute(attr="__dict__", value=value):
            return mentions_class and not _is_instance(value)
    return False


def _is_instance(node: ast.expr) -> bool:
    """Whether ``node`` is the instance or class of a method, whose attributes are those of another class."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
