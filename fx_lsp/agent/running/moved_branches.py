"""Finds branches that an edit leaves as they are, or moves into another function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping


def moved_branches(branches: Iterable[ast.If], new: ast.Module) -> list[ast.If]:
    """Those of the ``branches`` that are also in the ``new`` text, also if there, arguments stand for attributes.

    Where ``self.scale`` is passed for the parameter ``scale``, a branch that reads ``scale`` is the one that read
    ``self.scale``.
    """
    kept = {ast.dump(node) for node in ast.walk(new) if isinstance(node, ast.If)}
    for function, attributes in _functions_of_attributes(new):
        inner = [node for node in ast.walk(function) if isinstance(node, ast.If)]
        # Written as text once, so that the original nodes stay as they are.
        texts = (ast.parse(ast.unparse(node)).body[0] for node in inner)
        kept |= {ast.dump(_WithAttributes(attributes).visit(text)) for text in texts}
    return [branch for branch in branches if ast.dump(branch) in kept]


def _functions_of_attributes(module: ast.Module) -> Iterator[tuple[ast.FunctionDef, dict[str, ast.Attribute]]]:
    """The module-level functions that all calls pass the same attributes, with these by parameter."""
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.setdefault(node.func.id, []).append(node)
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in calls:
            given = [_attributes(statement, call) for call in calls[statement.name]]
            if given[0] and len({repr({name: ast.dump(one) for name, one in other.items()}) for other in given}) == 1:
                yield statement, given[0]


def _attributes(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.Attribute]:
    """The attributes that a call passes as positional arguments, each by the parameter that keeps it."""
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    changed = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    pairs = zip(parameters, call.args, strict=False)
    return {name: given for name, given in pairs if isinstance(given, ast.Attribute) and name not in changed}


class _WithAttributes(ast.NodeTransformer):
    """Replaces the names of parameters by the attributes that are passed for them."""

    def __init__(self, attributes: Mapping[str, ast.Attribute]) -> None:
        self._attributes = attributes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._attributes.get(node.id, node)
