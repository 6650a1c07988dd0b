"""mmcv's and mmengine's decorator for functions whose parameters have got new names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any


def deprecated_api_warning(
    name_dict: Mapping[str, str], cls_name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of a function that also takes keyword arguments by the names in ``name_dict``, their old ones."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def renaming(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{name_dict.get(name, name): value for name, value in kwargs.items()})

        return renaming

    return decorate
