"""Keeps the garbage collector from copying, in a forked process, all that it only looks through."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

_freeze = gc.freeze


def freeze() -> None:
    """Hide the objects that exist now from the collector, but not from a program that asks ``gc`` who refers to what.

    Packages that check types, such as typeguard, find the running function that way.
    """
    _freeze()
    if not hasattr(gc.get_referrers, "__wrapped__"):
        gc.get_referrers = _seeing_frozen(gc.get_referrers)


def _seeing_frozen(find: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    @functools.wraps(find)
    def finding(*objects: Any) -> list[Any]:
        gc.unfreeze()
        try:
            return find(*objects)
        finally:
            _freeze()

    return finding
