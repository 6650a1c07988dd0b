"""Submodules for invented modules in which the program looks for some by name.

``IntermediateLayerGetter(backbone, return_layers={"layer4": "0"})`` refuses a backbone without a ``layer4``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FrameType

from fx_lsp.agent.inventing.argument_kinds import ArgumentKind
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import Change
from fx_lsp.agent.inventing.error_values import frames_of, path_of
from fx_lsp.agent.inventing.invented_values import InventedModule

MOST_NAMED = 16
"""The most submodules that a module gets. Longer lists of names are those of weights, for example."""


def with_named_children(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Invented modules with submodules of the names that a function has which refused one of them."""
    for frame in frames_of(error.__traceback__) if isinstance(error, ValueError | LookupError | AssertionError) else ():
        modules = [value for value in frame.f_locals.values() if isinstance(value, InventedModule)]
        paths = [path for path in dict.fromkeys(path_of(one, plan.made) for one in modules) if path in plan.kinds]
        for names in _groups_of_names(frame) if paths else ():
            for path in paths:
                first, *others = [f"{path}.{name}" for name in names]
                if first not in plan.kinds:
                    yield Change(first, ArgumentKind("module"), others=(*others,))


def _groups_of_names(frame: FrameType) -> Iterator[list[str]]:
    """The names in each of a function's mappings, lists, tuples and sets that consist of names."""
    for value in list(frame.f_locals.values()):
        names = list(value) if isinstance(value, Mapping | list | tuple | set | frozenset) else []
        if 0 < len(names) <= MOST_NAMED and all(type(name) is str and name.isidentifier() for name in names):
            yield names
