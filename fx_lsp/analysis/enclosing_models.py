"""Finds the models of a file that a class is a part of, as far as the file's text shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from fx_lsp.agent.messages import Recipe, Target

MOST_MODELS = 2
"""How many models that contain a class are returned."""


def enclosing_models(text: str, target: Target, others: Iterable[Target]) -> list[Recipe]:
    """Recipes for models that have submodules of the target's class, the most trusted first.

    ``others`` are the other targets of the file. Of models that are equally trusted, the largest comes first: what it
    is called with is most likely to follow from its code.
    """
    around = list(_classes_around(target.symbol or "", _names_used(text)))
    by_symbol = {other.symbol: other.recipe for other in others}
    own = [by_symbol[name] for name in reversed(around) if name in by_symbol]
    known = sorted((*own, *target.hosts), key=lambda recipe: recipe.made_up)
    return known[:MOST_MODELS]


def _names_used(text: str) -> Mapping[str, frozenset[str]]:
    """The names that each class of a file uses; nothing if the file can't be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {cls.name: frozenset(node.id for node in ast.walk(cls) if isinstance(node, ast.Name)) for cls in classes}


def _classes_around(name: str, used: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """The classes that use the class ``name``, then those that use these, and so on."""
    seen, todo = {name}, [name]
    while todo:
        inner = todo.pop(0)
        for cls, names in used.items():
            if inner in names and cls not in seen:
                seen.add(cls)
                todo.append(cls)
                yield cls
