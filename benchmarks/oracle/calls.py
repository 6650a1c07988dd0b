"""What the libraries' calls and subscripts are made by, once they are rewritten: a try, and the oracle's answer."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.fx.proxy import Proxy
from torch.utils import _pytree as pytree

from benchmarks.oracle import tracing
from benchmarks.oracle.places import is_users


def _symbols_in(value: Any) -> bool:
    if isinstance(value, slice):
        return _symbols_in((value.start, value.stop, value.step))
    leaves = pytree.tree_leaves(value)
    return any(_symbols_in(leaf) if isinstance(leaf, slice) else isinstance(leaf, Proxy) for leaf in leaves)


def _is_open(function: Any, caller: FrameType) -> bool:
    """Whether a call is looked into: the callee is Python code of the caller's own package."""
    if isinstance(function, torch.nn.Module):
        function = type(function).forward
    if isinstance(function, type):
        function = function.__init__  # type: ignore[misc]
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    ours = caller.f_globals.get("__name__", "").partition(".")[0]
    theirs = getattr(function, "__globals__", {}).get("__name__", "").partition(".")[0]
    return code is not None and is_users(code) and ours == theirs


def _is_torchs(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a call goes right into torch's C code."""
    if hasattr(function, "__code__"):
        return function is _read and isinstance(args[0], torch.Tensor)
    name = getattr(function, "__name__", None)
    return isinstance(getattr(function, "__self__", None), torch.Tensor) or (
        isinstance(name, str) and getattr(torch, name, None) is function
    )


def _read(value: Any, key: Any) -> Any:
    return value[key]


def _tried(function: Callable[..., Any], caller: FrameType, args: Any, kwargs: Any) -> Any:
    oracle = tracing.active[-1] if tracing.active else None
    if function is isinstance and oracle is not None and caller.f_code in oracle.checked:
        return isinstance(oracle.real(args[0]), args[1])
    try:
        if oracle is None or not _is_torchs(function, args):
            return function(*args, **kwargs)
        with oracle.probed():
            return function(*args, **kwargs)
    except Exception as error:
        if oracle is None or oracle.is_real or _is_open(function, caller):
            raise
        owner = getattr(function, "__self__", None)
        if not _symbols_in((list(args), kwargs, owner)):
            raise
        return oracle.answer_call(error, function, args, kwargs)


def called(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """A call of the program's."""
    return _tried(function, sys._getframe(1), args, kwargs)


def item(value: Any, key: Any) -> Any:
    """A subscript of the program's."""
    return _tried(_read, sys._getframe(1), (value, key), {})
