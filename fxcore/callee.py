"""Which function an instruction calls, by the names in its source and what they stand for."""

from __future__ import annotations

import builtins
import inspect
from types import FrameType, ModuleType
from typing import Any

import torch

from fxcore.operation import called_at


def callee_at(frame: FrameType, lasti: int) -> str:
    """The name of what ``frame`` calls at offset ``lasti`` (see `callee_name`), or else how the call is written."""
    written = called_at((frame.f_code, lasti))
    return callee_name(_named(frame, written)) or written


def calls_torch_cpp(frame: FrameType, lasti: int) -> bool:
    """Whether ``frame`` calls C++ code of torch's at offset ``lasti``; a method is taken for a tensor's by its name."""
    written = called_at((frame.f_code, lasti))
    value = _named(frame, written)
    if value is None:
        return bool(written) and callable(getattr(torch.Tensor, written.rpartition(".")[2], None))
    return not hasattr(value, "__code__") and callee_name(value).startswith("torch.")


def _named(frame: FrameType, written: str) -> Any:
    """What a dotted name stands for in ``frame``; None where that can't be told without running code."""
    first, *attributes = written.split(".")
    value: Any = {**vars(builtins), **frame.f_globals, **frame.f_locals}.get(first)
    for attribute in attributes:
        if not isinstance(value, ModuleType | type):  # reading an attribute of anything else may run code
            return None
        value = inspect.getattr_static(value, attribute, None)
    return value


def callee_name(function: Any) -> str:
    """The package and the name of a function, e.g. ``torch.ones``, ``numpy.sqrt``, ``torch.expand`` for a method's.

    ``""`` where it has no name. Python's builtins are named alone: ``divmod``.
    """
    name = getattr(function, "__name__", "")
    if not isinstance(name, str) or not name:
        return ""
    owner = getattr(function, "__objclass__", None) or getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or getattr(owner, "__module__", None) or type(function).__module__
    package = str(module).partition(".")[0]
    return name if package == "builtins" else f"{package}.{name}"
