"""The strings that a function compares its arguments with, such as ``"mean"`` in ``if reduction == "mean"``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fx_lsp.agent.searching.written_shapes import definition_of

MOST_OPTIONS = 4
"""How many strings are tried for each parameter."""


def written_options(function: Callable[..., Any]) -> Mapping[str, list[str]]:
    """The strings that each parameter is compared with in the text of ``function``, in order, by its name."""
    definition = definition_of(function)
    found: dict[str, dict[str, None]] = {}
    for node in ast.walk(definition) if definition is not None else ():
        match node:
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant() as other]
            ):
                found.setdefault(name, {}).update(dict.fromkeys(_strings([other])))
            case ast.Compare(left=ast.Name(id=name), ops=[ast.In() | ast.NotIn()], comparators=[other]):
                found.setdefault(name, {}).update(dict.fromkeys(_strings(getattr(other, "elts", []))))
    parameters = inspect.signature(function).parameters
    return {name: [*options][:MOST_OPTIONS] for name, options in found.items() if name in parameters and options}


def _strings(nodes: list[ast.expr]) -> Iterator[str]:
    """The strings among literals."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
