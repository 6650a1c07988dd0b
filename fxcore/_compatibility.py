"""The marker that torch.fx puts on its public functions, for programs that use it on their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator that returns what it decorates, unchanged: it records an intention for the reader."""

    def unchanged(decorated: _T) -> _T:
        return decorated

    return unchanged
