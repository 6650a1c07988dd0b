"""Weights that a constructor loads and that are not available here: the module is built without them.

There is no network, and no file can be kept. A function that failed to load weights is replaced by one that returns
`NoWeights`, and the constructor is run again.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import torch

from fx_lsp.agent.traceback_steps import causes

T = TypeVar("T")

MOST = 6
"""Functions that one constructor may load weights by."""

_LOADS = re.compile(
    r"(load|fetch|download|get).*(_url|state_dict|weight|checkpoint|ckpt)|load_pretrained$", re.IGNORECASE
)
"""What a function is named that yields weights, or puts them into a model that it is given."""


class NoWeights(dict[Any, Any]):
    """Weights that are not known; a module that loads them stays as it is."""

    def __repr__(self) -> str:
        return "weights"

    def __missing__(self, key: object) -> NoWeights:
        return self

    def get(self, key: object, default: object = None) -> NoWeights:
        """The weights below ``key``: not known either."""
        return self

    pop = get


def without_weights(make: Callable[[], T]) -> T:
    """What ``make`` yields, with no weights in the place of those that it can't load. Raises what it does."""
    for _ in range(MOST):
        try:
            return make()
        except Exception as error:
            if replace_weight_loader(error) is None:
                raise
    return make()


def replace_weight_loader(error: BaseException) -> str | None:
    """Have the function return no weights that failed to load them, with ``error``, from a missing file or network.

    It does so from now on, in this process and for all who imported it. Returns its name; None where none failed so.
    """
    found = _refused(error)
    if found is None:
        return None
    loads, instead = found
    known = tuple(_INSTEAD.get(constant, constant) for constant in instead.__code__.co_consts)
    loads.__code__ = instead.__code__.replace(co_consts=known, co_freevars=loads.__code__.co_freevars)
    loads.__defaults__ = loads.__kwdefaults__ = None
    torch.nn.Module.load_state_dict = _loaded  # type: ignore[method-assign]
    return f"{loads.__module__}.{loads.__qualname__}"


def weights_are_missing() -> bool:
    """Whether any weights were missing so far, which code that lists them has not noticed."""
    return torch.nn.Module.load_state_dict is _loaded


def lacks_weights(error: BaseException) -> bool:
    """Whether missing weights may have caused ``error``: a file, a network or a package that is not available."""
    return any(isinstance(cause, OSError | ImportError) or handled_missing_weights(cause) for cause in causes(error))


def handled_missing_weights(error: BaseException) -> bool:
    """Whether one of the functions by which ``error`` came had `NoWeights` at hand."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(isinstance(value, NoWeights) for frame in frames for value in frame.f_locals.values())


def _refused(error: BaseException) -> tuple[FunctionType, FunctionType] | None:
    """The innermost function by which ``error`` came that was to load weights, and one to run instead."""
    if not any(isinstance(cause, OSError) for cause in causes(error)):
        return None
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = frame.f_code.co_name
        function = inspect.unwrap(frame.f_globals.get(name, causes))
        method = inspect.getattr_static(frame.f_locals.get("cls"), name, None)
        if name == "from_pretrained" and isinstance(method, classmethod):
            function = inspect.unwrap(method.__func__)
        elif not (_LOADS.search(name) or function is torch.load):
            continue
        if isinstance(function, FunctionType) and function.__code__ is frame.f_code:
            instead: Any = _from_defaults if isinstance(method, classmethod) else _no_weights
            return function, instead
    return None


def _no_weights(*args: Any, **kwargs: Any) -> Any:
    return "no weights"  # see `_INSTEAD`


def _from_defaults(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An instance as ``from_pretrained`` makes it, but of the size that is the default."""
    config_class = getattr(cls, "config_class", None)
    made = cls() if config_class is None else cls(kwargs.get("config") or config_class())
    return (made, {}) if kwargs.get("return_unused_kwargs") else made


_INSTEAD: dict[object, object] = {"no weights": NoWeights()}
"""What constants of the functions above stand for, which have no globals of their own where they are run."""

_load = torch.nn.Module.load_state_dict


def _loaded(self: torch.nn.Module, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
    """``Module.load_state_dict``, but that no weights fit every module, and so do those that were filtered."""
    if isinstance(state_dict, NoWeights) or not state_dict:
        return torch.nn.modules.module._IncompatibleKeys([], [])
    return _load(self, state_dict, *args, **kwargs)
