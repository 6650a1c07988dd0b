"""Replaces C++ functions that refuse traced values, so that the calls can be recorded and the refusals reported.

C++ dispatches a call to a proxy's ``__torch_function__`` only if the proxy is passed where a tensor could be. As a size
among varargs (``torch.zeros(n, 4)``), as a bound of a slice of a real tensor, or as a dtype, a proxy is refused with a
TypeError.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from types import FunctionType, ModuleType
from typing import Any

import torch

from fxcore.explore.soft_modules import SoftModule
from fxcore.torch_compat import compiler_marks
from fxcore.tracing.patching import PatchScope
from fxcore.wrap import find_proxy

Call = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Calls a replaced function: takes the original function and its arguments, and returns what the call returns."""

# fmt: off
FUNCTIONS = (
    "arange", "as_tensor", "asarray", "broadcast_shapes", "empty", "eye", "finfo", "from_numpy", "full", "iinfo",
    "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm", "range", "tensor", "zeros",
)
METHODS = (
    "__getitem__", "expand", "new", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "permute", "repeat",
    "reshape", "resize_", "tile", "to", "type", "unflatten", "view",
)
# fmt: on
"""The functions in ``torch`` (`FUNCTIONS`) and the methods of ``torch.Tensor`` that may refuse a traced value.

Calls to all other functions and methods are dispatched as in any trace.
"""

LEGACY = frozenset(
    {"BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor"}
    | {"ShortTensor", "Size", "Tensor"}
)
"""The classes of torch whose constructors refuse traced values, besides ``Variable``."""


def soften_calls(patches: PatchScope, call: Call) -> None:
    """Until ``patches`` ends, pass all calls to `FUNCTIONS`, `METHODS` and `compiler_marks` to ``call``.

    If a program has kept one of the replacements, ``call`` stays alive, so ``call`` should not keep anything else
    alive.
    """
    torch.overrides.is_tensor_method_or_property(torch.Tensor.add)  # has torch list its functions first
    soft = functools.partial(_soft_of_torch, call)
    patches.replace_all(torch.__dict__, dict.fromkeys(FUNCTIONS, soft))
    patches.replace_all(torch.Tensor, dict.fromkeys(METHODS, soft))
    patches.replace(type(torch.autograd.Variable), "__call__", soft)
    for namespace, name in compiler_marks():
        patches.replace(namespace, name, soft)


def soften_imports(patches: PatchScope, call: Call, namespace: dict[str, Any], recorded: Collection[int] = ()) -> None:
    """Like `soften_calls`, for the functions that a module imported from other packages, except torch and fxcore.

    This includes the functions and classes that the module looks up in other modules: ``np.ceil``. Of torch, it
    includes only `LEGACY`. The functions whose ids are in ``recorded`` are left as they are.
    """
    package = _package(namespace.get("__name__"))
    soften = functools.partial(_soft, call)
    for name, value in list(namespace.items()):
        if name == "__builtins__" or id(value) in recorded:
            continue
        if isinstance(value, FunctionType) and _package(value.__module__) not in (package, "torch", "fxcore"):
            patches.replace(namespace, name, soften)
        elif value is torch:
            patches.replace(namespace, name, functools.partial(SoftModule, soften=soften, names=LEGACY))
        elif isinstance(value, ModuleType) and _package(value.__name__) not in (package, "torch", "fxcore"):
            patches.replace(namespace, name, functools.partial(SoftModule, soften=soften))


def soften_assertions(patches: PatchScope, call: Call) -> None:
    """Like `soften_calls`, for ``torch._assert``."""
    patches.replace(torch.__dict__, "_assert", functools.partial(_soft_of_torch, call))


def refuse_to_misread(function: Callable[..., Any], kwargs: dict[str, Any]) -> None:
    """Raise TypeError if C++ would read the memory of a traced value as if it were a dtype.

    ``new_tensor`` doesn't check its argument: it would return a tensor of an arbitrary dtype, or crash the process.
    """
    if function.__name__ == "new_tensor" and find_proxy(kwargs.get("dtype")) is not None:
        raise TypeError("new_tensor(): argument 'dtype' must be torch.dtype, not Proxy")


def unsoftened(function: Any) -> Any:
    """The original function if ``function`` is a replacement made here; otherwise ``function`` itself."""
    return function.__wrapped__ if getattr(function, "__code__", None) is _SOFT_CODE else function


def _package(module: object) -> str:
    return str(module).partition(".")[0]


def _soft(call: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def softly(*args: Any, **kwargs: Any) -> Any:
        return call(function, args, kwargs)

    return softly


# Replacements are cached: torch's functions stay the same, and each run replaces about forty of them.
_soft_of_torch = functools.lru_cache(maxsize=256)(_soft)
_SOFT_CODE = _soft(lambda function, args, kwargs: None, len).__code__
