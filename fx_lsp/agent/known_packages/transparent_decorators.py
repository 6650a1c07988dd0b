"""Decorators that return the function or class itself, whatever their arguments are, as those do that document it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def documenting(*args: Any, **kwargs: Any) -> Callable[[T], T]:
    """A decorator that changes nothing but a text."""
    return itself


def itself(thing: T) -> T:
    """What is decorated."""
    return thing


def overrides(method: Any = None, **options: bool) -> Any:
    """A decorator that is written without parentheses, or with options on what it checks about a method."""
    return itself if method is None else method
