"""Defaults of dataclasses that Python refuses since version 3.11: ``conv: ConvConfig = ConvConfig()``.

Many programs were written for earlier versions. What their classes do is known all the same.
"""

from __future__ import annotations

import dataclasses
from typing import Any

_make = dataclasses.dataclass


def are_refused(error: BaseException) -> bool:
    """Whether such a default has raised ``error``, and is not allowed yet."""
    is_about_default = isinstance(error, ValueError) and str(error).startswith("mutable default ")
    return is_about_default and dataclasses.dataclass is _make


def allow() -> None:
    """From now on, in this process, accept such defaults. Lists, dicts and sets are refused as before."""
    dataclasses.dataclass = _tolerant


def _tolerant(cls: Any = None, /, **options: Any) -> Any:
    """Like ``dataclasses.dataclass``, which takes a class for mutable if its instances can't be hashed."""
    if cls is None:
        return lambda decorated: _tolerant(decorated, **options)
    defaults = [value.default if isinstance(value, dataclasses.Field) else value for value in vars(cls).values()]
    changed: set[Any] = {type(one) for one in defaults if type(one).__hash__ is None and dataclasses.is_dataclass(one)}
    for each in changed:
        each.__hash__ = object.__hash__
    try:
        return _make(cls, **options)
    finally:
        for each in changed:
            each.__hash__ = None
