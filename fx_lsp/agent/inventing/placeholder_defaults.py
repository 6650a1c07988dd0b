"""Defaults that only hold the place of an argument, because a parameter before theirs has a default, too."""

from __future__ import annotations

import inspect
from typing import Any

_PLACEHOLDERS = {tuple: list, list: list, dict: dict, str: str, int: int}
"""The types of defaults that may only hold a place, with the types of what is invented instead."""


def is_placeholder(default: Any) -> bool:
    """Whether a default may only hold the place of an argument: ``ch=()``, ``names={}``, ``groups=-1``."""
    kind = type(default)
    return kind in _PLACEHOLDERS and (default == -1 if kind is int else not default)


def is_required(parameter: inspect.Parameter) -> bool:
    """Whether a parameter needs an argument: it has no default, or OmegaConf's mark of fields that lack a value."""
    return parameter.default is parameter.empty or (type(parameter.default) is str and parameter.default == "???")


def annotation_of(parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter. If there is none, the type of a default that holds the place of an argument."""
    if parameter.annotation is parameter.empty and is_placeholder(parameter.default):
        return _PLACEHOLDERS[type(parameter.default)]
    return parameter.annotation
