"""Builds modules without the weights that their constructors load and that are not available here.

There is no network, and no downloaded file could be kept. A function that failed to load weights is replaced by one
that returns `NoWeights`, and the constructor is run again.
"""

from __future__ import annotations

import ast
import inspect
import re
import traceback
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, TypeVar

import torch

from fx_lsp.agent.frame_code import tree_of
from fx_lsp.agent.traceback_steps import causes

T = TypeVar("T")

MOST = 6
"""The maximum number of functions that are replaced for one constructor."""

_LOADS = re.compile(
    r"(load|fetch|download|get).*(_url|state_dict|weight|checkpoint|ckpt)|load_pretrained$|(^|_)download", re.IGNORECASE
)
"""The names of functions that return weights or the path of their file, or load them into a given model."""


class NoWeights(dict[Any, Any]):
    """Unknown weights; a module that loads them does not change."""

    def __repr__(self) -> str:
        return "weights"

    def __missing__(self, key: object) -> NoWeights:
        return self

    def get(self, key: object, default: object = None) -> NoWeights:
        """The weights under ``key``, which are just as unknown."""
        return self

    pop = get

    def __delitem__(self, key: object) -> None:
        """Accept that weights are removed, which are as unknown as the rest."""


NoWeights.__name__ = NoWeights.__qualname__ = "weights_that_are_missing"  # in the messages of errors


def without_weights(make: Callable[[], T]) -> T:
    """What ``make`` returns, with `NoWeights` instead of weights that it can't load. Raises what ``make`` raises."""
    for _ in range(MOST):
        try:
            return make()
        except Exception as error:
            if replace_weight_loader(error) is None:
                raise
    return make()


def replace_weight_loader(error: BaseException) -> str | None:
    """Replace the code of the function that raised ``error`` because it could not load weights from a file or network.

    The change is permanent in this process, and affects every module that imported the function. Returns the function's
    name; None if no function failed like this.
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
    """Whether any weights have been missing so far, even if no error shows it: iterating over them finds nothing."""
    return torch.nn.Module.load_state_dict is _loaded


def lacks_file(error: BaseException) -> bool:
    """Whether ``error`` says only that a file, a network or a package is not available, as it would on any device."""
    return all(isinstance(cause, OSError | ImportError) for cause in causes(error))


def lacks_weights(error: BaseException) -> bool:
    """Whether missing weights may have caused ``error``: a file, a network or a package that is not available."""
    return any(isinstance(cause, OSError | ImportError) or handled_missing_weights(cause) for cause in causes(error))


def handled_missing_weights(error: BaseException) -> bool:
    """Whether one of the functions that ``error`` passed through has `NoWeights` in a local variable."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(isinstance(value, NoWeights) for frame in frames for value in frame.f_locals.values())


def _refused(error: BaseException) -> tuple[FunctionType, Any] | None:
    """The innermost function that ``error`` passed through and that loads weights, and the function to run instead.

    Once weights are missing, any error in such a function may be for lack of them: filtered weights are an empty dict.
    A class of which only what it loads shows what it makes, as ``AutoModel``, makes something unknown.
    """
    if not any(isinstance(cause, OSError) for cause in causes(error)) and not weights_are_missing():
        return None
    frames = list(traceback.walk_tb(error.__traceback__))
    unknown = (one for frame, _ in frames if (one := _pretrained(frame)) and _is_unknown(*one))
    if stand_in is not None and (found := next(unknown, None)):
        return found[1], _unknown
    for (caller, line), (frame, _) in reversed(list(zip([*frames[:1], *frames], frames, strict=False))):
        if pretrained := _pretrained(frame):
            return pretrained[1], _from_defaults
        name = frame.f_code.co_name
        function = inspect.unwrap(frame.f_globals.get(name, causes))
        if not (_LOADS.search(name) or function is torch.load or _is_called_to_load(caller, line)):
            continue
        if isinstance(function, FunctionType) and function.__code__ is frame.f_code:
            is_method = isinstance(inspect.getattr_static(frame.f_locals.get("cls"), name, None), classmethod)
            return function, _from_defaults if is_method else _no_weights
    return None


def _pretrained(frame: FrameType) -> tuple[type, FunctionType] | None:
    """The class and its ``from_pretrained``, if ``frame`` runs that, or what was run instead of it."""
    cls = frame.f_locals.get("cls")
    method = inspect.getattr_static(cls, "from_pretrained", None)
    function: Any = method.__func__ if isinstance(method, classmethod) else None
    while function is not None:  # transformers copies this function for classes, so that what one wraps is no function
        if isinstance(cls, type) and isinstance(function, FunctionType) and function.__code__ is frame.f_code:
            return cls, function
        function = getattr(function, "__wrapped__", None)
    return None


def _is_unknown(cls: type, loads: FunctionType) -> bool:
    """Whether only what ``cls`` loads shows what it makes: it chooses among classes, or needs more than defaults."""
    has_refused = loads.__code__.co_name == _from_defaults.__name__ and not hasattr(cls, "config_class")
    return has_refused or cls.__module__.startswith(_CHOOSING)


_CHOOSING = "transformers.models.auto."
"""The modules of ``AutoModel``, ``AutoTokenizer`` and the like, which choose a class by the configuration they load."""


def _is_called_to_load(caller: FrameType, line: int) -> bool:
    """Whether what ``caller`` calls at ``line`` is an argument of ``load_state_dict`` or ``torch.load``."""
    arguments: list[ast.expr] = []
    for node in ast.walk(tree_of(caller.f_code) or ast.Pass()):
        match node:
            case ast.Call(func=ast.Attribute(attr="load_state_dict") | ast.Attribute(ast.Name("torch"), "load")):
                arguments += node.args
    return any(node.lineno <= line <= (node.end_lineno or line) for node in arguments)


def _no_weights(*args: Any, **kwargs: Any) -> Any:
    return "no weights"  # see `_INSTEAD`


def _from_defaults(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An instance as ``from_pretrained`` creates it, but with the default configuration unless one is given."""
    config_class = getattr(cls, "config_class", None)
    made = cls() if config_class is None else cls(kwargs.get("config") or config_class())
    return (made, {}) if kwargs.get("return_unused_kwargs") else made


def _unknown(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """What ``from_pretrained`` returns for a class that is missing."""
    stands_for: Any = "stands for"  # see `_INSTEAD`
    return stands_for(cls).from_pretrained(*args, **kwargs)


def _stands_for(cls: type) -> Any:
    """What stands for a class, as if its package were missing."""
    assert stand_in is not None
    return stand_in(f"{cls.__module__.partition('.')[0]}.{cls.__name__}")


stand_in: Callable[[str], Any] | None = None
"""Makes what stands for something missing, given its name. What imports files with stand-ins sets this."""

_INSTEAD: dict[object, object] = {"no weights": NoWeights(), "stands for": _stands_for}
"""Objects that replace constants in the code of the functions above, which can't name them: this code runs with another
function's globals."""

_load = torch.nn.Module.load_state_dict


def _loaded(self: torch.nn.Module, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
    """``Module.load_state_dict``, except that every module accepts `NoWeights`, and empty dicts (filtered weights)."""
    if isinstance(state_dict, NoWeights) or not state_dict:
        return torch.nn.modules.module._IncompatibleKeys([], [])
    return _load(self, state_dict, *args, **kwargs)
