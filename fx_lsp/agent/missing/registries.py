"""What the program has registered with the registries of missing packages: ``@BACKBONES.register_module()``.

A registry of a missing package returns what the program itself has registered under a name. Of any other name, nothing
is known: the package may have registered it, or a file that was not imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

REGISTERS = re.compile(r"(?:^|\.)register(?:_[a-z]\w*)?$")
"""The end of a dotted name that, by convention, keeps a definition and returns it as it is."""

BUILDS = re.compile(r"(?:^|\.)build_(?:model_)?from_cfg$")
"""The end of the dotted name of a function that builds what a configuration describes, of a registry's classes."""

IS_REGISTRY = re.compile(r"(?:^|\.)\w*Registry$")
"""The end of the dotted name of a class of registries."""


class Registry:
    """What was registered with one registry."""

    def __init__(self, *, builds: bool = True) -> None:
        """``builds``: whether the registry builds as mmcv's do, and not by a function of the program's own."""
        self.builds = builds
        self._things: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._things)

    def add(self, name: str, thing: Any) -> None:
        """Keep ``thing`` under ``name``, which stands for nothing once two different things have it."""
        known = self._things.get(name, thing)
        self._things[name] = thing if _is_same(known, thing) else None

    def find(self, name: object) -> Any | None:
        """What was registered under ``name``; None if that is not known."""
        return self._things.get(name) if isinstance(name, str) else None


_by_name: dict[str, Registry] = {}


def registry_named(name: str) -> Registry:
    """The registry that a missing module defines, by its dotted name; each import of it has another stand-in."""
    return _by_name.setdefault(name, Registry())


def _is_same(one: Any, other: Any) -> bool:
    """Whether two things are one, or one definition that was run twice, since its module was imported again."""
    if not (isinstance(one, type | FunctionType) and isinstance(other, type | FunctionType)):
        return one is other
    is_local = "<locals>" in one.__qualname__
    return one is other or (not is_local and _place_of(one) == _place_of(other))


def _place_of(definition: type | FunctionType) -> tuple[str, str]:
    return definition.__module__, definition.__qualname__


@dataclass(frozen=True)
class Registration:
    """What a call such as ``register_module(name="net", module=Net)`` says."""

    names: tuple[str, ...] | None
    """The names to register under; None for the name of the definition. Empty if the name is not known."""
    thing: Any = None
    """What to register; None if it follows, as the decorated definition."""

    def enter(self, registry: Registry, thing: Any) -> None:
        """Register ``thing``."""
        own = getattr(thing, "__name__", None)
        for name in self.names if self.names is not None else (own,) if own else ():
            registry.add(name, thing)


def registration_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Registration | None:
    """What a call says whose function is named as if it registered something; None if it does something else."""
    things = [value for value in args if isinstance(value, type | FunctionType)]
    others = [value for value in args if not isinstance(value, type | FunctionType)]
    names = [_names(value) for value in (*others, *(kwargs[key] for key in kwargs if key == "name"))]
    if len(things) > 1 or len(names) > 1 or (others and names[0] == ()):
        return None
    is_usual = kwargs.keys() <= {"name", "module", "force"}  # any other may be about the name
    said = (names[0] if names else None) if is_usual else ()
    thing = things[0] if things else kwargs.get("module")
    return Registration(said, thing) if thing is None or callable(thing) else None


def _names(value: object) -> tuple[str, ...] | None:
    """The names that an argument gives: none if it is no name; None if it leaves the name to the definition."""
    match value:
        case None:
            return None
        case str():
            return (value,)
        case list() | tuple() if all(isinstance(name, str) for name in value):
            return tuple(value)
    return ()


def construction(cfg: Any, registry: Registry, default_args: Any = None) -> partial[Any] | None:
    """The call that builds what ``cfg`` describes, as mmcv does it; None if that is not known."""
    if not isinstance(cfg, dict) or not isinstance(default_args, dict | None):
        return None
    given = {**(default_args or {}), **cfg}
    kind = given.pop("type", None)
    thing = kind if isinstance(kind, type) else registry.find(kind)
    return None if thing is None or "_scope_" in given else partial(thing, **given)
