"""Gives names to what a program only passes on as ``*args`` and ``**kwargs``, so that inputs for it can be found."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from types import MethodType
from typing import Any

import torch

from fx_lsp.agent.running.observation import Input, forward_of

_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def with_named_parameters(root: Callable[..., Any], passed_on: str) -> Callable[..., Any] | None:
    """A program that does what ``root``, a module or its method, does, but takes what it passes on by name.

    ``passed_on`` has these parameters as in a definition; see `TraceFailure.passed_on`. None if there are none, if
    ``root`` takes no ``**kwargs``, or if it has a parameter of one of their names.
    """
    owner = root if isinstance(root, torch.nn.Module) else getattr(root, "__self__", None)
    parameters = [*inspect.signature(forward_of(root)).parameters.values()]
    names = _parameters(passed_on)
    takes_names = any(one.kind is one.VAR_KEYWORD for one in parameters)
    own = [one for one in parameters if one.kind not in _STARRED]
    if not names or not takes_names or owner is None or {one.name for one in own} & {one.name for one in names}:
        return None

    def run(_owner: Any, /, *args: Any, **kwargs: Any) -> Any:
        return root(*args, **kwargs)

    bound = inspect.Parameter("_owner", inspect.Parameter.POSITIONAL_ONLY)
    vars(run)["__signature__"] = inspect.Signature([bound, *own, *names])
    return MethodType(run, owner)


def passed_by_position(given: Input, root: Callable[..., Any], passed_on: str) -> Input:
    """``given``, with the first required parameter of those that ``root`` passes on by position, if it takes ``*args``.

    Most callers pass it so. If ``root`` has other positional parameters, these would come first.
    """
    parameters = inspect.signature(forward_of(root)).parameters.values()
    takes_positions = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    has_others = any(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)
    first = next(iter(_parameters(passed_on)), None)
    if not takes_positions or has_others or given.args or first is None or first.name not in given.kwargs:
        return given
    others = {name: value for name, value in given.kwargs.items() if name != first.name}
    return replace(given, args=(given.kwargs[first.name],), kwargs=others)


def _parameters(passed_on: str) -> list[inspect.Parameter]:
    """The parameters, which can only be given by name; none if they can't be read."""
    scope: dict[str, Any] = {}
    try:
        exec(f"def f(*, {passed_on}): pass", scope)
    except SyntaxError:
        return []
    return [*inspect.signature(scope["f"]).parameters.values()]
