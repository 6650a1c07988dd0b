"""The decorator with which torch.fx marks its public functions, for programs that also use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Return a decorator that does nothing: ``is_backward_compatible`` only shows readers whether an API is stable."""

    def unchanged(decorated: _T) -> _T:
        return decorated

    return unchanged
