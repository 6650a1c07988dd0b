"""detectron2's ``@configurable``: a constructor that takes its arguments, or a configuration to take them from."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from fx_lsp.agent.known_packages.config_nodes import CfgNode
from fx_lsp.agent.known_packages.omegaconf_configurations import DictConfig

_NO_CONFIGURATION = (int, float, str, list, tuple, torch.Tensor, torch.nn.Module)


def configurable(function: Any = None, *, from_config: Any = None) -> Any:
    """A function that takes the arguments of ``function``, or a configuration, with which it calls ``from_config``.

    A constructor has its class's own ``from_config``. NotImplemented if it is not known what is decorated.
    """
    if function is None:
        return functools.partial(configurable, from_config=from_config) if callable(from_config) else NotImplemented
    return _configured(function, from_config) if inspect.isfunction(function) else NotImplemented


def _configured(function: Callable[..., Any], from_config: Callable[..., Any] | None) -> Callable[..., Any]:
    own = 1 if from_config is None else 0  # a constructor's ``self``

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not _has_configuration(function, args, kwargs, own):
            return function(*args, **kwargs)
        read = type(args[0]).from_config if from_config is None else from_config
        return function(*args[:own], **_arguments(read, args[own:], kwargs))

    return called


def _has_configuration(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], position: int
) -> bool:
    """Whether a call's first argument is a configuration: any object, if the call makes no sense otherwise."""
    first = args[position] if len(args) > position else kwargs.get("cfg")
    if first is None or isinstance(first, _NO_CONFIGURATION):
        return False
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return True
    return isinstance(first, CfgNode | DictConfig)


def _arguments(from_config: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What ``from_config`` returns, and the keywords that it doesn't accept."""
    accepted = inspect.signature(from_config).parameters
    takes_all = any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in accepted.values())
    others = {} if takes_all else {name: value for name, value in kwargs.items() if name not in accepted}
    return {**from_config(*args, **{name: kwargs[name] for name in kwargs if name not in others}), **others}
