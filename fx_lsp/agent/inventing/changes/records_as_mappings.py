"""Makes records of settings that can also be read as mappings are: ``Layer(**config)``, ``config["width"]``.

A program that does that has its data classes wrapped, by OmegaConf for example, before it passes them on.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any


@functools.cache
def as_mapping(cls: type) -> type | None:
    """A subclass of the data class ``cls`` whose instances are mappings, too; None if it can't have one."""
    try:
        return type(cls.__name__, (cls, _Mapping), {"__module__": cls.__module__, "__qualname__": cls.__qualname__})
    except TypeError:  # it is final, or its fields have slots
        return None


class _Mapping:
    """The methods by which a mapping is read, for a data class."""

    __slots__ = ()

    def keys(self) -> list[str]:
        return [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]

    def values(self) -> list[Any]:
        return [getattr(self, name) for name in _Mapping.keys(self)]

    def items(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in _Mapping.keys(self)]

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name) if name in self else default

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in _Mapping.keys(self)

    def __iter__(self) -> Iterator[str]:
        return iter(_Mapping.keys(self))

    def __len__(self) -> int:
        return len(_Mapping.keys(self))
