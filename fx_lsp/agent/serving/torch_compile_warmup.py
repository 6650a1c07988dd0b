"""Loads torch.compile's machinery, which takes seconds, only for those who compile.

Functions of torch's that must not be compiled tell the compiler so when they are first called, and load it for that:
nearly every operation on the device meta calls one. While it is not loaded nothing is compiled, so there is nothing to
tell.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType
from typing import Any

COMPILER = "torch._dynamo"

_KNOWN_AS = "__dynamo_disable"
"""The attribute by which such a function has its form that the compiler knows of."""


def spare_compiler() -> bool:
    """Have those functions of torch's do without the compiler while it isn't loaded; False where this torch's can't.

    They are those that exist by now.
    """
    code = _code_of_callers()
    if code is None:
        return False
    for caller in gc.get_referrers(code):
        if isinstance(caller, FunctionType) and caller.__closure__:
            function = caller.__closure__[code.co_freevars.index("fn")].cell_contents
            if getattr(function, _KNOWN_AS, None) is None:
                setattr(function, _KNOWN_AS, partial(_call, caller, function))
    return True


def _call(caller: Callable[..., Any], function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call ``function``; once the compiler is loaded, as torch itself does, by its ``caller``."""
    if hasattr(sys.modules.get(COMPILER), "disable"):
        delattr(function, _KNOWN_AS)
        return caller(*args, **kwargs)
    return function(*args, **kwargs)


def _code_of_callers() -> CodeType | None:
    """The code that all functions share by which torch calls such a function; None where it is not what is known."""
    decorator = getattr(sys.modules.get("torch._compile"), "_disable_dynamo", None)
    for constant in decorator.__code__.co_consts if decorator else ():
        if isinstance(constant, CodeType) and _KNOWN_AS in constant.co_consts and "fn" in constant.co_freevars:
            return constant
    return None
