"""The decorator that marks torch.fx's public functions, for programs that also use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator that returns its argument unchanged: it only documents an intention for the reader."""

    def unchanged(decorated: _T) -> _T:
        return decorated

    return unchanged
