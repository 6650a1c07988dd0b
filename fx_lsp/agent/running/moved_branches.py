"""Finds branches that an edit leaves as they are, or moves into another function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Set


def moved_branches(branches: Iterable[ast.If], new: ast.Module) -> list[ast.If]:
    """Those of the ``branches`` that the ``new`` text still has, if only in a function that receives attributes.

    If all calls pass ``self.scale`` for the parameter ``scale``, a branch that reads ``scale`` may be one that read
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
    """The module-level functions to which all calls pass the same attributes, with these by parameter."""
    set_later = _set_outside_constructors(module)
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.setdefault(node.func.id, []).append(node)
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in calls:
            given = [_attributes(statement, call, set_later) for call in calls[statement.name]]
            if given[0] and len({repr({name: ast.dump(one) for name, one in other.items()}) for other in given}) == 1:
                yield statement, given[0]


def _set_outside_constructors(module: ast.Module) -> set[str]:
    """The names of the attributes that functions other than ``__init__`` set: a call may pass an older value."""
    functions = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name != "__init__")
    parts = (part for function in functions for part in ast.walk(function) if isinstance(part, ast.Attribute))
    return {part.attr for part in parts if not isinstance(part.ctx, ast.Load)}


def _attributes(function: ast.FunctionDef, call: ast.Call, set_later: Set[str]) -> dict[str, ast.Attribute]:
    """The attributes of ``self`` that a call passes as positional arguments, each by the parameter that keeps it."""
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    changed = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    found: dict[str, ast.Attribute] = {}
    for name, given in zip(parameters, call.args, strict=False):
        match given:
            case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                if name not in changed and attribute not in set_later:
                    found[name] = given
    return found


class _WithAttributes(ast.NodeTransformer):
    """Replaces the names of parameters by the attributes that are passed for them."""

    def __init__(self, attributes: Mapping[str, ast.Attribute]) -> None:
        self._attributes = attributes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._attributes.get(node.id, node)
