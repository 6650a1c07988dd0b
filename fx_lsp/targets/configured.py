"""What the settings say of every target: modules that are leaves, functions that are wrapped, the tracer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from fx_lsp.agent.messages import Recipe, Snippet, Target
from fx_lsp.config import Settings


def as_configured(targets: Iterable[Target], settings: Settings) -> tuple[Target, ...]:
    """``targets``, where their code names no tracer of its own with that of the settings."""
    tracer = _tracer(settings)
    leaves = _tuple_of(settings.leaf_modules) if settings.leaf_modules else None
    if tracer is None and leaves is None:
        return tuple(targets)
    return tuple(_configured(target, tracer, leaves) for target in targets)


def _configured(target: Target, tracer: str | None, leaves: str | None) -> Target:
    recipe, *fallbacks = (_with(recipe, tracer, leaves) for recipe in (target.recipe, *target.fallbacks))
    return dataclasses.replace(target, recipe=recipe, fallbacks=tuple(fallbacks))


def _with(recipe: Recipe, tracer: str | None, leaves: str | None) -> Recipe:
    if recipe.tracer is not None or recipe.leaves is not None:
        return recipe
    line = recipe.root.line
    return dataclasses.replace(
        recipe,
        tracer=Snippet(tracer, line) if tracer else None,
        leaves=Snippet(leaves, line) if leaves else None,
    )


def _tracer(settings: Settings) -> str | None:
    """An expression for the tracer; None for torch.fx's own as it is."""
    if settings.tracer:
        return _value_of(settings.tracer)
    if settings.autowrap:
        return f"{_value_of('torch.fx.Tracer')}(autowrap_functions={_tuple_of(settings.autowrap)})"
    return None


def _tuple_of(names: Sequence[str]) -> str:
    return f"({''.join(f'{_value_of(name)}, ' for name in names)})"


def _value_of(name: str) -> str:
    """An expression for what a dotted name stands for, whatever the file that it is evaluated in has imported."""
    return f"__import__('pkgutil').resolve_name({name!r})"
