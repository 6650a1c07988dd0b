"""Statements that can be an operator, and what is read from them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.fixes.editing.data_flow import place
from fx_lsp.fixes.editing.extraction import Extraction, changed_in_place, root_name
from fx_lsp.fixes.operators.value_kinds import Kind, ValueKinds

CREATING = frozenset(
    {"arange", "empty", "empty_like", "full", "full_like", "new_empty", "new_full", "new_ones", "new_zeros", "ones"}
    | {"ones_like", "zeros", "zeros_like"}
)
"""Functions that create tensors: their arguments alone determine size and type, and no memory is shared with others."""


@dataclass(frozen=True)
class Operator:
    """Statements that can be an operator: they take and return nothing but tensors and numbers."""

    statements: list[ast.stmt]
    extraction: Extraction
    kinds: dict[str, Kind]
    """The kinds of the parameters."""
    results: tuple[Kind, ...]
    integers: frozenset[str]
    """The parameters that are tensors of integers or booleans, which have no gradients."""
    values: ValueKinds
    """The kinds of the values in the function that the statements are in."""

    def last_values(self) -> Iterator[tuple[str | None, ast.expr | None]]:
        """Of each result: its name, if it has one, and the last value that the statements give it."""
        values = dict(assignments(self.statements))
        if not self.extraction.returns:
            yield from ((name, values.get(name)) for name in self.extraction.outputs)
            return
        nodes = itertools.chain.from_iterable(map(ast.walk, self.statements))
        returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value]
        for item in items_of(max(returned, key=place)):
            name = item.id if isinstance(item, ast.Name) else None
            yield name, values.get(name) if name else item


def assignments(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The names that the statements assign, each with a value, in the order of the text; tuples are passed over."""
    nodes = itertools.chain.from_iterable(map(ast.walk, statements))
    for node in sorted((node for node in nodes if isinstance(node, ast.Assign)), key=place):
        yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def called(value: ast.expr) -> str | None:
    """The name of the function or method that is called."""
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return None


def items_of(value: ast.expr) -> list[ast.expr]:
    """The values that are returned by ``return value``."""
    return value.elts if isinstance(value, ast.Tuple) else [value]


def changed_names(statements: Sequence[ast.stmt]) -> set[str | None]:
    """The names whose values the statements change in place, also with ``+=``; None if it is not known which."""
    nodes = [*itertools.chain.from_iterable(map(ast.walk, statements))]
    added = {root_name(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
    calls = {root_name(node.func) for node in nodes if _changes(node) and isinstance(node, ast.Call)}
    return added | calls | {name for name in map(changed_in_place, nodes) if name is not None}


def _changes(node: ast.AST) -> bool:
    """Whether a call changes what a method is called on, as ``x.view(-1).add_(1)`` does."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.endswith("_") and not name.startswith("_")
    return False
