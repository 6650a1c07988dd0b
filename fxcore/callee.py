"""Which function an instruction calls, by the names in its source and what they stand for."""

from __future__ import annotations

import builtins
import inspect
from types import FrameType, ModuleType
from typing import Any

from fxcore.operation import called_at


def callee_at(frame: FrameType, lasti: int) -> str:
    """The name of what ``frame`` calls at offset ``lasti`` (see `callee_name`), or else how the call is written."""
    written = called_at((frame.f_code, lasti))
    first, *attributes = written.split(".")
    value: Any = {**vars(builtins), **frame.f_globals, **frame.f_locals}.get(first)
    for attribute in attributes:
        if not isinstance(value, ModuleType | type):  # reading an attribute of anything else may run code
            return written
        value = inspect.getattr_static(value, attribute, None)
    return callee_name(value) or written


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
