"""Which functions do more than compute a value, and so must not be dropped when nobody uses it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

from fxcore import torch_compat

__all__ = ["has_side_effect", "is_impure_function"]

_F = TypeVar("_F", bound=Callable[..., Any])

_side_effectful_functions: set[Callable[..., Any]] = {operator.setitem, *torch_compat.side_effectful_functions()}


def has_side_effect(fn: _F) -> _F:
    """Have dead-code elimination keep every call of ``fn``. Usable as a decorator; returns ``fn``."""
    _side_effectful_functions.add(fn)
    return fn


def is_impure_function(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], impure_random: bool = True
) -> bool:
    """Whether a call of ``function`` has an effect beside its value.

    ``impure_random``: whether drawing from torch's random number generator counts as one, for operators that say so.
    """
    if function in _side_effectful_functions:
        return True
    return torch_compat.is_impure_operator(function, args, kwargs, impure_random)
