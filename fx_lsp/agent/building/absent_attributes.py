"""Recognizes attributes that an instance of the program never gets: ``self.transposed``, which no code ever sets."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from traceback import walk_tb
from types import CodeType, FunctionType

import torch

from fx_lsp.agent.frame_code import tree_of

_SETS_ANY = frozenset({"setattr", "__setattr__", "__dict__", "vars", "locals", "__setstate__", "__getattribute__"})
"""What a method mentions that can set an attribute without its name, or computes attributes."""

_ONLY_LOOKS = frozenset({"super", "isinstance", "hasattr", "getattr", "type", "len", "id", "repr", "str", "print"})
"""Functions that set nothing on an object that is passed to them."""


def lacking(error: AttributeError) -> tuple[object, str | None]:
    """The object that lacks an attribute, and the attribute's name; ``(None, None)`` if the error shows neither."""
    *_, last = [None, *(frame for frame, _ in walk_tb(error.__traceback__))]
    if last is not None and last.f_code.co_name == "__getattr__" and last.f_code.co_argcount == 2:
        owner, name = (last.f_locals.get(argument) for argument in last.f_code.co_varnames[:2])
        return owner, str(name)  # torch's own names neither
    return error.obj, error.name


def is_absent(owner: object, name: str | None, belongs: Callable[[str], bool]) -> bool:
    """Whether no instance of the class of ``owner`` ever has an attribute ``name``.

    That is so if the class has no bases but modules of the program and ``nn.Module``, if no method of these can set the
    attribute, and if no loaded file of the program sets an attribute of that name from outside. A class with subclasses
    may leave the attribute to them. ``belongs`` says which files are the program's.
    """
    if name is None or not isinstance(owner, torch.nn.Module) or type.__subclasses__(type(owner)):
        return False
    bases = [cls for cls in type(owner).__mro__ if cls not in (torch.nn.Module, object)]
    members = [member for cls in bases for member in vars(cls).values()]
    functions = [one for one in map(_function, members) if one is not None]
    homes = {getattr(sys.modules.get(cls.__module__), "__file__", None) or "" for cls in bases}
    return (
        all(map(belongs, homes))
        and not any(name in vars(cls) or "__getattr__" in vars(cls) for cls in bases)
        and not any(_may_set(function.__code__, name) for function in functions)
        and not any(_sets_from_outside(path, name) for path in _loaded_files(belongs))
    )


def _function(member: object) -> FunctionType | None:
    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    function = function.fget if isinstance(function, property) else function
    function = inspect.unwrap(function) if isinstance(function, FunctionType) else function
    return function if isinstance(function, FunctionType) else None


def _may_set(code: CodeType, name: str) -> bool:
    """Whether a method may set the attribute ``name`` of its instance, itself or through what it passes that to."""
    tree = tree_of(code)
    return tree is None or any(_may_be_set_by(node, name) for node in ast.walk(tree))


def _may_be_set_by(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(attr=attr, ctx=ast.Store()):
            return attr == name
        case ast.Attribute(attr=text) | ast.Name(id=text):
            return text in _SETS_ANY
        case ast.Constant(value=str(text)):
            return text == name
        case ast.Call(func=func, args=args):
            passes_self = any(isinstance(one, ast.Name) and one.id == "self" for one in args)
            is_constructor = isinstance(func, ast.Attribute) and func.attr == "__init__"
            return passes_self and not is_constructor and not (isinstance(func, ast.Name) and func.id in _ONLY_LOOKS)
    return False


def _loaded_files(belongs: Callable[[str], bool]) -> Iterator[str]:
    files = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    return (file for file in files if isinstance(file, str) and belongs(file))


def _sets_from_outside(path: str, name: str) -> bool:
    """Whether a file sets an attribute ``name`` of anything but ``self`` or ``cls``, or has its name as a text."""
    word = re.escape(name)
    sets = re.compile(rf"(?<!\bself)(?<!\bcls)\.{word}[ \t]*(?:,|:|=(?!=))|[\"']{word}[\"']")
    return sets.search("".join(linecache.getlines(path))) is not None
