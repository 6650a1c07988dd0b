"""Finds the dicts, lists and objects that a program expects, and the arguments that it passes on, from what it lacks.

A search for inputs starts with tensors. Where the program looks up a key in one of them, or in an item of one that it
treats as a list, a dict is tried; where it reads an attribute that tensors don't have, an object is tried; where it
does what only lists can do, such as ``levels[::-1]``, a list is tried. Where a function lacks an argument, and the
program passes on all that it is given by name, the argument is added.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import itertools
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import FrameType
from typing import Any

import torch

from fx_lsp.agent.frame_code import names_in, tree_of, value_of
from fx_lsp.agent.inventing.checks.failed_checks import names_in_check
from fx_lsp.agent.own_files import is_own_file
from fx_lsp.agent.running.records import AttributeName
from fx_lsp.agent.searching.wanted_inputs import TensorLike, Wanted, replaced, value_at, with_key, without_indices
from fx_lsp.agent.searching.written_lists import ITEMS, MOST_ITEMS
from fxcore import accelerators

ANY_KEY = "tensor"
"""The first key of a dict of which only the methods are used."""

_AS_LIST = AttributeName("[]")
"""What is looked up in a tensor that is used as a list."""

_LIST_METHODS = frozenset({"append", "extend", "insert", "pop", "reverse"})
"""Methods that lists have, and tensors don't."""


_BETWEEN = frozenset({accelerators.__file__, torch._tensor.__file__, torch.overrides.__file__})
"""The files of code that comes between the program and torch's operators; see `_intervenes`."""

_MISSING_ARGUMENTS = re.compile(r"\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.+)")


def with_missing_argument(error: BaseException, wanted: Wanted, forward: Callable[..., Any]) -> Wanted | None:
    """``wanted`` with the arguments that a function lacks, as ``error`` shows; None if it shows none, or known ones.

    At first, each is like the first of those that are ``wanted``. ``forward`` passes on what it is given by name.
    """
    found = _MISSING_ARGUMENTS.search(str(error)) if isinstance(error, TypeError) else None
    names = re.findall(r"'(\w+)'", found[1]) if found else _checked_options(error, forward)
    known = {path[0] for path in wanted}
    if not names or not known.isdisjoint(names):
        return None
    like = next(iter(wanted.values()))
    return {**wanted, **{(name,): like for name in names}}


def _checked_options(error: BaseException, forward: Callable[..., Any]) -> list[str]:
    """The variables that are None in the check that raised ``error``, if ``forward`` can give them values by name.

    They are parameters of functions to which all that ``forward`` is given by name is passed on.
    """
    checked = {name for frame, line in innermost(error) for name in names_in_check(frame, line)}
    code = getattr(inspect.unwrap(forward), "__code__", None)
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    passing = itertools.dropwhile(lambda frame: frame.f_code is not code, frames)
    options: list[str] = []
    for caller, called in itertools.pairwise(passing):
        if not caller.f_code.co_flags & inspect.CO_VARKEYWORDS:
            break
        parameters = inspect.getargs(called.f_code).args
        options += [name for name in parameters if called.f_locals.get(name, ...) is None]
    return [name for name in dict.fromkeys(options) if name in checked]


def with_missing_key(
    error: BaseException, wanted: Wanted, arguments: Mapping[str, Any], described: Mapping[str, TensorLike]
) -> Wanted | None:
    """``wanted`` with a dict, a list or an object where the program looked up what is missing; None if it did not.

    The program, which raised ``error``, may have looked it up in a tensor, in an item of a tensor that it treats as a
    list, or in a dict. ``described`` are tensors by key; a tensor that isn't described is like the one it replaces.
    """
    for holder, key in _lookups(error):
        if key is _AS_LIST:
            if (listed := _with_list(wanted, arguments, holder)) is not None:
                return listed
            continue
        known = described.get(key)
        for path, like in wanted.items():
            for end in range(1, len(path)):
                if _lacks(holder, key, value_at(arguments, path[:end])):
                    return with_key(wanted, path[:end], key, known)
            tensor = value_at(arguments, path)
            if not isinstance(tensor, torch.Tensor):  # the program has replaced it
                continue
            new = known or like
            if tensor is holder:
                alike = [other for other in wanted if without_indices(other) == without_indices(path)]
                return functools.reduce(lambda all_, one: replaced(all_, one, {(*one, key): new}), alike, wanted)
            if isinstance(holder, torch.Tensor) and tensor.data_ptr() and _share_memory(tensor, holder):
                item = known or replace(like, shape=like.shape[1:])
                return replaced(wanted, path, {(*path, index, key): item for index in range(ITEMS)})
    return None


def _with_list(wanted: Wanted, arguments: Mapping[str, Any], holder: Any) -> Wanted | None:
    """``wanted`` with a list instead of ``holder``: a tensor among the ``arguments``, or an item of one; else None."""
    for path, like in wanted.items():
        tensor = value_at(arguments, path)
        if not isinstance(tensor, torch.Tensor) or not isinstance(holder, torch.Tensor):
            continue
        if tensor is holder:
            return replaced(wanted, path, {(*path, index): like for index in range(ITEMS)})
        if tensor.dim() and tensor.stride(0) and _share_memory(tensor, holder):
            item = replace(like, shape=like.shape[1:])
            at = (holder.storage_offset() - tensor.storage_offset()) // tensor.stride(0)
            items = [[(*path, index)] for index in range(min(len(tensor), MOST_ITEMS))]
            if at < len(items):
                items[at] = [(*path, at, inner) for inner in range(ITEMS)]
                return replaced(wanted, path, {one: item for paths in items for one in paths})
    return None


def innermost(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frame and line that raised ``error``, ignoring those that watch or redirect what the program does."""
    steps = [step for step in traceback.walk_tb(error.__traceback__) if not _intervenes(step[0].f_code.co_filename)]
    return steps[-1:]


def _intervenes(filename: str) -> bool:
    """Whether the code in a file comes between the program and torch's operators.

    These are the modes of fx-lsp and of fxcore, and the methods of tensors that torch has in Python, such as
    `torch.Tensor.__contains__`.
    """
    return is_own_file(filename) or filename in _BETWEEN


def _lookups(error: BaseException) -> Iterator[tuple[Any, str]]:
    """What the line that raised ``error`` looks up: each container with the key, `ANY_KEY` if it asks for all.

    For a tensor that the line uses as a list, the key is `_AS_LIST`.
    """
    for frame, line in innermost(error):
        tree, names = tree_of(frame.f_code) or ast.Pass(), names_in(frame, line)
        nodes = _nodes_at(tree, line)
        methods = [node.func for node in nodes if isinstance(node, ast.Call)]
        for node in nodes:
            key: str | None
            match node:
                case ast.Subscript(value=holder, slice=ast.Slice(step=ast.UnaryOp())) if isinstance(error, ValueError):
                    key = _AS_LIST
                case ast.Subscript(value=holder, slice=written):
                    key = _text_of(written, names)
                case ast.Compare(left=written, ops=[ast.In() | ast.NotIn()], comparators=[holder]) if isinstance(
                    error, RuntimeError
                ):
                    key = _text_of(written, names)
                case ast.Call(
                    func=ast.Attribute(value=holder, attr="pop"), args=[ast.Constant(value=str(key)), *_]
                ) if _is_missing(error, "pop"):
                    pass
                case ast.Call(func=ast.Attribute(value=holder, attr=method)) if method in _LIST_METHODS and _is_missing(
                    error, method
                ):
                    key = _AS_LIST
                case ast.Attribute(value=holder, attr="items" | "keys" | "values" | "get") if isinstance(
                    error, AttributeError
                ):
                    key = ANY_KEY
                case ast.Attribute(value=holder, attr=attribute) if (
                    _is_missing(error, attribute) and node not in methods
                ):
                    key = AttributeName(attribute)
                case _:
                    continue
            with contextlib.suppress(Exception):
                if key is not None:
                    yield value_of(holder, names), key


def _text_of(node: ast.expr, names: dict[str, Any]) -> str | None:
    """The value of an expression that may be a key; None if it is no text."""
    try:
        value = value_of(node, names)
    except Exception:
        return None
    return value if isinstance(value, str) else None


@functools.lru_cache(maxsize=256)
def _nodes_at(tree: ast.AST, line: int) -> list[ast.AST]:
    """The nodes that begin at a line. A search fails at the same line hundreds of times."""
    return [node for node in ast.walk(tree) if getattr(node, "lineno", None) == line]


def _is_missing(error: BaseException, attribute: str) -> bool:
    return isinstance(error, AttributeError) and error.name == attribute


def _lacks(holder: Any, key: str, argument: Any) -> bool:
    """Whether ``holder``, a dict of the program without the ``key``, is ``argument`` or made from it."""
    if not (isinstance(holder, dict) and isinstance(argument, dict)) or key in holder or key in argument:
        return False
    if holder is argument:  # the program may have taken all of its items
        return True
    return bool(holder) and all(argument.get(name) is value for name, value in holder.items())


def _share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
