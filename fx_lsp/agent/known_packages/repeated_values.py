"""mmcv's and mmengine's functions that make a tuple of a size: ``to_2tuple(7)`` is ``(7, 7)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def to_ntuple(n: int) -> Callable[[Any], Any]:
    """A function that returns a value ``n`` times, as a tuple; what can be iterated over stays as it is."""

    def repeated(x: Any) -> Any:
        return x if isinstance(x, Iterable) else (x,) * n

    return repeated


to_1tuple, to_2tuple, to_3tuple, to_4tuple = map(to_ntuple, (1, 2, 3, 4))
