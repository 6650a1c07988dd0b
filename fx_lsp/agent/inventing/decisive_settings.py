"""Finds the settings on which a program bases decisions, and what the workspace writes for them.

An invented number decides at random whether ``if cfg.sanity_checks:`` holds. If the workspace says ``sanity_checks:
False``, nobody runs the model in any other way. Strings are left alone: those that are invented are what the program
compares them with, while the workspace may write another one as the default of many programs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from fx_lsp.agent.inventing.argument_kinds import OF_SETTINGS, ArgumentKind
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan, kind_of
from fx_lsp.agent.inventing.written_settings import WrittenSettings


def decisive_settings(plan: ArgumentPlan) -> list[str]:
    """The paths of the settings that are invented numbers that the program tests or compares, or flags."""
    settings = [path for path in plan.kinds if _is_setting(path, plan)]
    return [path for path in settings if path in plan.tested or isinstance(plan.kinds[path].value, bool)]


def _is_setting(path: str, plan: ArgumentPlan) -> bool:
    owner = plan.kinds.get(path.rpartition(".")[0])
    return owner is not None and owner.name in OF_SETTINGS and not path.endswith("]")


def kinds_written(
    paths: Collection[str], settings: WrittenSettings, plan: ArgumentPlan
) -> Iterator[dict[str, ArgumentKind]]:
    """What the workspace writes for the settings at ``paths`` that differs from what was invented.

    First come all of them, and then, since these may not suit the invented ones, those that switch something off.
    """
    written = {path: value for path in paths for value in settings.find(path)}
    kinds = {path: kind_of(value) for path, value in written.items() if _is_modest(value, plan.kinds[path])}
    new = {path: kind for path, kind in kinds.items() if kind.value != plan.kinds[path].value}
    yield new
    off = {path: kind for path, kind in new.items() if not kind.value}
    if off != new:
        yield off


def _is_modest(value: Any, kind: ArgumentKind) -> bool:
    """Whether ``value`` is a switch, or a number that does not make the model larger, which would only take time."""
    if type(value) in (int, float):
        return bool(value <= max(kind.value if kind.name == "number" else 0, 1))
    return value is None or isinstance(value, bool)
