"""Recognizes errors that may only show that something was not set up: the program, as it is used, may not raise them.

A class may be complete only after another method has been called (``init_cache``), may read a global variable that a
function sets first, or may need a certain machine or command line. Its constructor alone does not show that.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import re
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

from fx_lsp.agent.frame_code import is_at, tree_of
from fx_lsp.agent.traceback_steps import Belongs, causes
from fx_lsp.agent.tracing.setters import filler, sets, setter

_OF_MACHINE = re.compile(r"\b(environ|getenv|argv|glob|listdir|scandir|cuda|device_count|parse_args|rpc)\b")
"""Names in statements that read what differs between machines and calls: variables, arguments, files, devices and
other processes."""

_OF_CLASS = re.compile(r"\btype\((self|cls)\)|\bself\.__class__\b|^cls is ")
"""What a test reads that asks for the class of an instance."""

OF_SUBCLASSES = "it leaves part of its work to subclasses"
"""The reason for giving no verdict on a class that is only a base for others."""

_BUILDS = frozenset({"__init__", "__new__", "__post_init__"})
"""The methods that run whenever an instance is made."""

_CONTAINERS = (list, tuple, dict, set, str, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList)


def lacking_setup(error: BaseException, belongs: Belongs) -> str | None:
    """What may not have been set up when the program raised ``error``; None if nothing shows that.

    ``belongs`` says which files are the program's.
    """
    for cause in causes(error):
        frames = list(traceback.walk_tb(cause.__traceback__))
        own = [(frame, line) for frame, line in frames if belongs(frame.f_code.co_filename)]
        if own:
            frame, line = own[-1]
            return _reason(cause, _Place(frame, line, frozenset(frame.f_code for frame, _ in frames)))
    return None


class _Place:
    """The statement that raised an error, and the functions that were running."""

    def __init__(self, frame: FrameType, line: int, running: frozenset[CodeType]) -> None:
        self.frame = frame
        self.running = running
        statements = [node for node in _nodes(frame.f_code) if isinstance(node, ast.stmt)]
        around = [node for node in statements if is_at(node, line)]
        self._statements = statements
        simple = [node for node in around if not hasattr(node, "body")]
        self._text = ast.unparse(simple[-1]) if simple else linecache.getline(frame.f_code.co_filename, line)
        is_raise = bool(simple) and isinstance(simple[-1], ast.Raise)
        tests = [node.test for node in around if isinstance(node, ast.If) and (is_raise or not simple)]
        self.is_for_subclasses = is_raise and any(_OF_CLASS.search(ast.unparse(test)) for test in tests)
        """Whether the statement raises an error since the instance is not of another class."""
        self.reads = [part for node in (*simple, *tests) for part in _reads(node)]

    def texts(self) -> Iterator[str]:
        """The statement, and those that assign what it reads."""
        yield self._text
        read = {ast.unparse(part) for part in self.reads}
        for node in self._statements:
            if isinstance(node, ast.Assign) and any(ast.unparse(target) in read for target in node.targets):
                yield ast.unparse(node)


def _nodes(code: CodeType) -> list[ast.AST]:
    return list(ast.walk(tree_of(code) or ast.Module([], [])))


def _reads(node: ast.AST) -> Iterator[ast.Attribute | ast.Name]:
    """The variables and attributes that code reads."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Name) and isinstance(part.ctx, ast.Load):
            yield part


def _reason(error: BaseException, place: _Place) -> str | None:
    if isinstance(error, NotImplementedError) or place.is_for_subclasses:
        has_subclasses = type.__subclasses__(type(place.frame.f_locals.get("self")))
        return OF_SUBCLASSES if has_subclasses else None
    if isinstance(error, NameError):
        return _defined_by_script(error.name or "", place)
    if any(map(_OF_MACHINE.search, place.texts())):
        return "it depends on the machine or the command line with which it is run"
    return next(filter(None, (_set_elsewhere(part, place) for part in place.reads)), None)


def _defined_by_script(name: str, place: _Place) -> str | None:
    """Who defines a global variable that does not exist, if anybody in its file does."""
    path = place.frame.f_code.co_filename
    if not path.endswith((".py", ".ipynb")):  # an example in a text need not say what it imports
        return f"{Path(path).name}, which shows how to build it, does not define `{name}`"
    if found := setter(_functions(place), name, place.running, is_global=True):
        return f"`{found}` sets `{name}`, which it reads, and was not called"
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.parse("".join(linecache.getlines(path)))
        blocks = [node for node in tree.body if isinstance(node, ast.If | ast.Try | ast.With | ast.For)]
        bound = (part for block in blocks for part in ast.walk(block) if isinstance(part, ast.Name))
        if any(part.id == name and isinstance(part.ctx, ast.Store) for part in bound):
            return f"it reads `{name}`, which its file defines only in some cases"
    return None


def _set_elsewhere(part: ast.Attribute | ast.Name, place: _Place) -> str | None:
    """Who sets or fills a variable or attribute that has no value so far; None if it has one, or if nobody does."""
    frame = place.frame
    if isinstance(part, ast.Name):
        is_unset = (
            part.id in frame.f_globals and part.id not in frame.f_locals and _is_nothing(frame.f_globals[part.id])
        )
        return _set_by(_functions(place), part.id, place, is_global=True) if is_unset else None
    owner, name = _owner(part, frame), part.attr
    if owner is None or not _is_nothing(_attribute(owner, name)):
        return None
    if reason := _set_by(_methods(owner), name, place, is_global=False):
        return reason
    if _is_left_out(owner, name):
        return f"it was built without `{name}`, which it reads"
    if _is_of_subclasses(owner, name):
        return OF_SUBCLASSES
    return f"it reads `{name}`, which other code sets once it is built" if _is_set_from_outside(frame, name) else None


def _set_by(functions: Sequence[FunctionType], name: str, place: _Place, *, is_global: bool) -> str | None:
    """The reason if one of ``functions``, none of which was called, sets or fills something; otherwise None."""
    if found := setter(functions, name, place.running, is_global=is_global):
        return f"`{found}` sets `{name}`, which it reads, and was not called"
    if found := filler(functions, name, place.running):
        return f"`{found}` fills `{name}`, which it reads, and was not called"
    return None


def _is_left_out(owner: object, name: str) -> bool:
    """Whether the constructor sets an attribute to its parameter of the same name, whose default is None."""
    constructor = _unwrapped(type(owner).__init__)
    if not isinstance(constructor, FunctionType):
        return False
    parameter = inspect.signature(constructor).parameters.get(name)
    if parameter is None or parameter.default is not None:
        return False
    assignments = [node for node in _nodes(constructor.__code__) if isinstance(node, ast.Assign)]
    return any(sets(node, name) and any(part.id == name for part in _names(node.value)) for node in assignments)


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Name))


def _is_of_subclasses(owner: object, name: str) -> bool:
    """Whether subclasses define an attribute of an instance's class."""
    below = type.__subclasses__(type(owner))
    return any(name in vars(cls) for cls in below)


def _owner(part: ast.Attribute, frame: FrameType) -> object:
    """The object of the program whose attribute is read; None if it is no such object, or computes its attributes."""
    if not isinstance(part.value, ast.Name):
        return None
    owner = frame.f_locals.get(part.value.id, frame.f_globals.get(part.value.id))
    cls = owner if isinstance(owner, type) else type(owner)
    is_of_program = cls.__module__.partition(".")[0] not in ("builtins", "torch") and not hasattr(cls, "__getattr__")
    return owner if isinstance(owner, torch.nn.Module) or is_of_program else None


def _functions(place: _Place) -> list[FunctionType]:
    """The functions of the module that raised the error."""
    return [one for one in place.frame.f_globals.values() if isinstance(one, FunctionType)]


def _methods(owner: object) -> list[FunctionType]:
    """The methods of an object or a class that making an instance does not run."""
    cls = owner if isinstance(owner, type) else type(owner)
    members = [_unwrapped(one) for base in cls.__mro__ for one in vars(base).values()]
    return [one for one in members if isinstance(one, FunctionType) and one.__name__ not in _BUILDS]


def _unwrapped(member: object) -> Any:
    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    return inspect.unwrap(function) if isinstance(function, FunctionType) else function


def _attribute(owner: object, name: str) -> object:
    """An attribute that an instance or its class has, found without running code of the program."""
    if isinstance(owner, torch.nn.Module):
        for held in (owner._parameters, owner._buffers, owner._modules):
            if name in held:
                return held[name]
    return inspect.getattr_static(owner, name, None)


def _is_nothing(value: object) -> bool:
    return value is None or (type(value) in _CONTAINERS and not len(value))  # type: ignore[arg-type]


def _is_set_from_outside(frame: FrameType, name: str) -> bool:
    """Whether the file sets the attribute of an object that is not the ``self`` or ``cls`` of a method.

    It may set several at once: ``block.H, block.W = x.shape[2:]``.
    """
    sets = re.compile(rf"(?:^|,)[ \t]*(?!self\b|cls\b)\w+\.{re.escape(name)}[ \t]*(?:,[\w., \t]*)?=(?!=)", re.MULTILINE)
    return sets.search("".join(linecache.getlines(frame.f_code.co_filename))) is not None
