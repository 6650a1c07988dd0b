"""Finds which attributes and other names a part of a function may read, so that others need not be as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

Functions = Mapping[str, ast.FunctionDef]
"""The functions of a file, by qualified name."""


def attributes_of_owner(
    sides: Sequence[Sequence[ast.stmt]], functions: Sequence[Functions], name: str
) -> frozenset[str] | None:
    """The attributes of its object that statements of the method ``name`` may read, before or after an edit.

    What methods of the same class read that they call counts, not these methods. ``sides`` are the statements before
    and after the edit, and ``functions`` those of the two texts. None if they use the object itself.
    """
    found: set[str] = set()
    for statements, known in zip(sides, functions, strict=True):
        methods = {other.rpartition(".")[2]: node for other, node in known.items() if _is_beside(other, name)}
        waiting: list[tuple[Iterable[ast.AST], str | None]] = [(statements, _first_parameter(known[name]))]
        met = set()
        while waiting:
            nodes, first = waiting.pop()
            attributes = _attributes(nodes, first)
            if attributes is None:
                return None
            for attribute in attributes:
                if attribute in methods and attribute not in met:
                    met.add(attribute)
                    waiting.append((methods[attribute].body, _first_parameter(methods[attribute])))
            found |= attributes - methods.keys()
    return frozenset(found)


def _is_beside(other: str, name: str) -> bool:
    return "." in name and other.rpartition(".")[0] == name.rpartition(".")[0]


def _first_parameter(function: ast.FunctionDef) -> str | None:
    return next((arg.arg for arg in (*function.args.posonlyargs, *function.args.args)), None)


def _attributes(nodes: Iterable[ast.AST], first: str | None) -> set[str] | None:
    """The attributes of the variable ``first`` that are read in ``nodes``; None if it is used in another way."""
    parts = [part for node in nodes for part in ast.walk(node)]
    used = [part for part in parts if isinstance(part, ast.Name) and part.id in (first, "super", "__class__")]
    bases = [part.value for part in parts if isinstance(part, ast.Attribute)]
    if any(all(base is not one for base in bases) or one.id != first for one in used):
        return None
    return {part.attr for part in parts if isinstance(part, ast.Attribute) and part.value in used}


def reached_names(function: ast.FunctionDef, functions: Functions) -> frozenset[str]:
    """All names and attributes that a function mentions, or one of the ``functions`` of its file that it may call."""
    by_name: dict[str, list[ast.FunctionDef]] = {}
    for other, node in functions.items():
        by_name.setdefault(other.rpartition(".")[2], []).append(node)
    found: set[str] = set()
    waiting = [function]
    while waiting:
        parts = [*ast.walk(waiting.pop())]
        mentioned = {node.id for node in parts if isinstance(node, ast.Name)}
        mentioned |= {node.attr for node in parts if isinstance(node, ast.Attribute)}
        waiting += [node for name in mentioned - found for node in by_name.get(name, ())]
        found |= mentioned
    return frozenset(found)
