"""Applies the settings to every target: leaf modules, wrapped functions and the tracer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from fx_lsp.agent.messages import Recipe, Snippet, Target
from fx_lsp.settings.settings import Settings


def as_configured(targets: Iterable[Target], settings: Settings) -> tuple[Target, ...]:
    """``targets``, with the functions that the settings wrap.

    Recipes that have neither a tracer nor leaf modules also get the tracer and leaf modules from the settings.
    """
    if not (settings.tracer or settings.leaf_modules or settings.autowrap):
        return tuple(targets)
    return tuple(_configured(target, settings) for target in targets)


def _configured(target: Target, settings: Settings) -> Target:
    recipe, *fallbacks = (_with(recipe, settings) for recipe in (target.recipe, *target.fallbacks))
    hosts = tuple(_with(recipe, settings) for recipe in target.hosts)
    return dataclasses.replace(target, recipe=recipe, fallbacks=tuple(fallbacks), hosts=hosts)


def _with(recipe: Recipe, settings: Settings) -> Recipe:
    line = recipe.root.line
    wraps = (Snippet(_wrap(name), line) for name in settings.autowrap)
    recipe = dataclasses.replace(recipe, setup=(*wraps, *recipe.setup))
    if recipe.tracer is not None or recipe.leaves is not None:
        return recipe
    leaves = f"({''.join(f'{_value_of(name)}, ' for name in settings.leaf_modules)})"
    return dataclasses.replace(
        recipe,
        tracer=Snippet(_value_of(settings.tracer), line) if settings.tracer else None,
        leaves=Snippet(leaves, line) if settings.leaf_modules else None,
    )


def _wrap(name: str) -> str:
    """A statement that calls ``torch.fx.wrap`` in the module of the function with this dotted name."""
    module, _, function = name.rpartition(".")
    call = f"__import__('torch.fx').fx.wrap({function!r})"
    return f"exec({call!r}, vars({_value_of(module)}))"


def _value_of(name: str) -> str:
    """An expression for the object with this dotted name that can be evaluated in any file, whatever its imports."""
    return f"__import__('pkgutil').resolve_name({name!r})"
