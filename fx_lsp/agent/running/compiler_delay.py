"""Delays loading torch.compile's machinery, which takes seconds, until a program compiles something.

Functions of torch that must not be compiled register with the compiler, and so load it, when they are first called.
Nearly every operation on the meta device calls such a function. While the compiler is not loaded, nothing is compiled,
and there is no need to register.
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
"""The attribute in which torch caches, on a function that must not be compiled, its form for the compiler."""


def spare_compiler() -> bool:
    """Let torch's functions that must not be compiled run without the compiler while it isn't loaded.

    To be called again after an import that defines further ones: they are not affected until then. Returns False if
    this version of torch doesn't allow that.
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
    """Call ``function``; once the compiler is loaded, call it through ``caller``, as torch itself does."""
    if hasattr(sys.modules.get(COMPILER), "disable"):
        delattr(function, _KNOWN_AS)
        return caller(*args, **kwargs)
    return function(*args, **kwargs)


def _code_of_callers() -> CodeType | None:
    """The code shared by torch's wrappers of functions that must not be compiled; None if it is not as expected."""
    decorator = getattr(sys.modules.get("torch._compile"), "_disable_dynamo", None)
    for constant in decorator.__code__.co_consts if decorator else ():
        if isinstance(constant, CodeType) and _KNOWN_AS in constant.co_consts and "fn" in constant.co_freevars:
            return constant
    return None
