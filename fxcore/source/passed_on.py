"""Finds the parameters of a callee that a call can only fill by passing on the program's ``*args`` and ``**kwargs``."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, MethodType
from typing import Any

import torch

from fxcore.source.spans import is_user_file
from fxcore.source.syntax import call_around

_WRITABLE = (type(None), bool, int, float, str)
"""Types of defaults that can be written as they are shown."""


def passed_on(frame: FrameType | None) -> str | None:
    """The parameters that ``*args`` and ``**kwargs`` can fill in the call that the user's code is making.

    They are written as in a definition, e.g. ``"mask=None, scale=1.0"``; empty if the call gives all parameters.
    ``frame`` is the running frame or one that it has called. None if the parameters are not known.
    """
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    call = None if frame is None else call_around((frame.f_code, frame.f_lasti))
    if frame is None or call is None:
        return None
    function, is_bound = _function(_value(call.func, frame))
    if function is None:
        return None
    try:
        parameters = list(inspect.signature(function).parameters.values())[is_bound:]
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None  # it may pass them on, too
    given = [one for one in call.args if not isinstance(one, ast.Starred)]
    if given != call.args[: len(given)]:  # some come behind a star: it is not known which parameters they are for
        return None
    if len(given) < len(call.args):  # what a star passes on can't always be passed by name
        beyond = [one for at, one in enumerate(parameters) if at >= len(given)]
        if any(one.kind in (one.VAR_POSITIONAL, one.POSITIONAL_ONLY) for one in beyond):
            return None
    left = [*_left(parameters, len(given), {keyword.arg for keyword in call.keywords})]
    if not all(one.default is one.empty or _is_writable(one.default) for one in left):
        return None
    return ", ".join(one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in left)


def _is_writable(default: Any) -> bool:
    is_finite = not isinstance(default, float) or math.isfinite(default)
    return type(default) in _WRITABLE and is_finite


def _left(parameters: list[inspect.Parameter], count: int, named: set[str | None]) -> Iterator[inspect.Parameter]:
    """The parameters that the stars of a call can fill: neither ``count`` positional arguments nor names fill them."""
    takes_names = None in named
    for at, one in enumerate(parameters):
        by_position = one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        if (by_position and at < count) or one.name in named:
            continue
        if takes_names if one.kind is one.KEYWORD_ONLY else one.kind is one.POSITIONAL_OR_KEYWORD:
            yield one


def _function(callee: Any) -> tuple[Callable[..., Any] | None, bool]:
    """The function of the program that ``callee`` runs, and whether its first argument is given already."""
    if isinstance(callee, torch.nn.Module):
        return getattr(type(callee), "forward", None), True
    if isinstance(callee, MethodType):
        return callee.__func__, True
    return (callee, False) if isinstance(callee, FunctionType) else (None, False)


def _value(expression: ast.expr, frame: FrameType) -> Any:
    """What an expression refers to in ``frame``; None if that is not known, or if finding out could run code."""
    match expression:
        case ast.Name(id=name):
            return {**vars(builtins), **frame.f_globals, **frame.f_locals}.get(name)
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=arguments), attr=name):
            owner = _value(arguments[0], frame) if arguments else frame.f_locals.get("__class__")
            instance = _value(arguments[1], frame) if len(arguments) > 1 else frame.f_locals.get("self")
            return _inherited(owner, instance, name)
        case ast.Attribute(value=value, attr=name):
            return _attribute(_value(value, frame), name)
    return None


def _inherited(owner: Any, instance: Any, name: str) -> Any:
    """The method ``name`` of the first class behind ``owner`` in the order in which ``instance`` looks methods up."""
    mro = type(instance).__mro__
    above = mro[mro.index(owner) + 1 :] if owner in mro else ()
    function = next((vars(cls)[name] for cls in above if name in vars(cls)), None)
    return function.__get__(instance) if isinstance(function, FunctionType) else None


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, torch.nn.Module) and name in owner._modules:
        return owner._modules[name]
    value = inspect.getattr_static(owner, name, None)
    is_method = isinstance(value, FunctionType) and inspect.getattr_static(type(owner), name, None) is value
    return value.__get__(owner) if is_method else value
