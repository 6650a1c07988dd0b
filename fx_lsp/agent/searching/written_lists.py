"""Finds the parameters of a function that its text treats as lists, tuples or dicts of tensors.

Examples: ``points: tuple[Tensor, Tensor]``, ``for level in features``, ``zip(self.heads, features)``, ``a, b = pair``,
``features[-1]``, and ``features[i]`` in a loop that counts with ``i``. A tensor can be used in most of these ways, too;
only an annotation is certain.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fx_lsp.agent.searching.written_shapes import definition_of

ITEMS = 2
"""How many items a list has if nothing shows it."""

MOST_ITEMS = 8
"""A list of more items than this is not invented."""

_TENSORS = re.compile(r"[^\[]*Tensor[^\[]*")
"""What a list of tensors contains, rather than one of dicts or of lists."""

_LISTS = frozenset({"list", "List", "tuple", "Tuple", "Sequence", "Iterable", "Collection"})
_TAKE_LISTS = frozenset({"len", "enumerate", "zip", "list", "tuple", "reversed", "cat", "stack", "concat"})
_COUNT = frozenset({"range", "enumerate"})


@dataclass(frozen=True)
class WrittenList:
    """What the text shows about a list."""

    items: int | None = None
    """The number of its items, if the text shows it."""
    is_certain: bool = False
    """Whether the parameter can't be a tensor."""


def written_lists(function: Callable[..., Any]) -> dict[str, WrittenList]:
    """The lists by parameter, in the order of the parameters."""
    definition = definition_of(function)
    if definition is None:
        return {}
    arguments = definition.args
    parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    annotated = {one.arg: known for one in parameters if (known := _annotated(one.annotation)) is not None}
    used: dict[str, list[int | None]] = {}
    for node in ast.walk(definition):
        for name, items in _used_as_list(node):
            used.setdefault(name, []).append(items)
    needed = {name: max(filter(None, items), default=None) for name, items in used.items()}
    found = {name: WrittenList(items) for name, items in needed.items()}
    found |= {name: replace(known, items=known.items or needed.get(name)) for name, known in annotated.items()}
    return {one.arg: found[one.arg] for one in parameters if one.arg in found}


_DICT_METHODS = frozenset({"items", "keys", "values"})


def written_dicts(function: Callable[..., Any]) -> list[str]:
    """The parameters of which the text asks for all keys or values: ``for name, value in features.items()``."""
    definition = definition_of(function)
    if definition is None:
        return []
    asked = set()
    for node in ast.walk(definition):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=[]) if method in _DICT_METHODS:
                asked.add(name)
    arguments = definition.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if one.arg in asked]


def _annotated(annotation: ast.expr | None) -> WrittenList | None:
    """What an annotation such as ``Optional[Tuple[Tensor, Tensor]]`` says; None unless it is a list of tensors."""
    for node in ast.walk(annotation) if annotation is not None else ():
        match node:
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner) if name in _LISTS:
                if not _TENSORS.fullmatch(ast.unparse(inner)):
                    continue
                match inner:
                    case ast.Tuple(elts=items) if not any(ast.unparse(item) == "..." for item in items):
                        return WrittenList(len(items), is_certain=True)
                return WrittenList(is_certain=True)
    return None


def _used_as_list(node: ast.AST) -> Iterator[tuple[str, int | None]]:
    """The names that ``node`` uses as lists, each with the fewest items that this use needs, if it shows that."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=name)):
            if not any(isinstance(target, ast.Starred) for target in targets):
                yield name, len(targets)
        case ast.For(iter=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
            yield name, None
        case ast.For(
            target=ast.Name(id=counter) | ast.Tuple(elts=[ast.Name(id=counter), *_]),
            iter=ast.Call(func=ast.Name(id=function)),
        ) if function in _COUNT:
            for used in ast.walk(node):
                match used:
                    case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=index)) if index == counter:
                        yield name, None
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))):
            yield name, index + 1
        case ast.Subscript(
            value=ast.Name(id=name),
            slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(index))),
        ):
            yield name, index
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), args=arguments):
            for argument in arguments if function in _TAKE_LISTS else ():
                if isinstance(argument, ast.Name):
                    yield argument.id, None
