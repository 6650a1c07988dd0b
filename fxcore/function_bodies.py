"""What a function does, apart from the function: so that it can do something else for a while, in its place."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any


def twin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Another function that does what ``function`` does now; ``function`` itself where it isn't written in Python."""
    if not isinstance(function, FunctionType):
        return function
    same = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    same.__kwdefaults__ = function.__kwdefaults__
    return same


def can_be_exchanged(function: object) -> bool:
    """Whether a function may get another body: one that uses variables of a function around it must go on to do so."""
    return isinstance(function, FunctionType) and function.__closure__ is None


def body_of_call(choose: Callable[[], Callable[..., Any]]) -> CodeType:
    """A body with which a function passes its arguments on to ``choose()``."""
    code = _body.__code__
    return code.replace(co_consts=tuple(choose if constant == _CHOOSE else constant for constant in code.co_consts))


_CHOOSE = "choose"


def _body(*args: Any, **kwargs: Any) -> Any:
    # In a foreign function this has foreign globals, so what it calls is among its constants.
    choose: Any = "choose"
    return choose()(*args, **kwargs)
