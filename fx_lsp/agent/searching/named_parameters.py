"""Gives names to what a program only passes on as ``*args`` and ``**kwargs``, so that inputs for it can be found."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

import torch

from fx_lsp.agent.running.observation import forward_of

_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def with_named_parameters(root: Callable[..., Any], passed_on: str) -> Callable[..., Any]:
    """A program that does what ``root`` does, but takes what it passes on by name.

    ``passed_on`` has these parameters as in a definition; see `TraceFailure.passed_on`. It is ``root`` itself if there
    are none, or if it takes no ``**kwargs``.
    """
    owner = root if isinstance(root, torch.nn.Module) else getattr(root, "__self__", None)
    parameters = [*inspect.signature(forward_of(root)).parameters.values()]
    names = _parameters(passed_on)
    takes_names = any(one.kind is one.VAR_KEYWORD for one in parameters)
    own = [one for one in parameters if one.kind not in _STARRED]
    if not names or not takes_names or owner is None or {one.name for one in own} & {one.name for one in names}:
        return root

    def run(module: Any, *args: Any, **kwargs: Any) -> Any:
        return root(*args, **kwargs)

    first = inspect.Parameter("module", inspect.Parameter.POSITIONAL_ONLY)
    vars(run)["__signature__"] = inspect.Signature([first, *own, *names])
    return MethodType(run, owner)


def _parameters(passed_on: str) -> list[inspect.Parameter]:
    """The parameters, which can only be given by name; none if they can't be read."""
    scope: dict[str, Any] = {}
    try:
        exec(f"def f(*, {passed_on}): pass", scope)
    except SyntaxError:
        return []
    return [*inspect.signature(scope["f"]).parameters.values()]
