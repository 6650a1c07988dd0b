"""The functions of mmcv, mmengine and timm that make a tuple of a size: ``to_2tuple(7)`` is ``(7, 7)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def to_ntuple(n: int) -> Callable[[Any], Any]:
    """A function that returns a value ``n`` times, as a tuple; what can be iterated over stays as it is."""

    def repeated(x: Any) -> Any:
        return x if isinstance(x, Iterable) else (x,) * n

    return repeated


to_1tuple, to_2tuple, to_3tuple, to_4tuple = map(to_ntuple, (1, 2, 3, 4))


def timm_ntuple(n: int) -> Callable[[Any], Any]:
    """timm's version of `to_ntuple`, which makes a tuple of what can be iterated over, but repeats a text."""

    def repeated(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,) * n

    return repeated


timm_1tuple, timm_2tuple, timm_3tuple, timm_4tuple = map(timm_ntuple, (1, 2, 3, 4))
