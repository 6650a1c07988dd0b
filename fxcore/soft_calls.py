"""Functions in C++ that refuse traced values, made to go on: they are recorded instead, and the refusal is reported.

C++ dispatches a call to a proxy's ``__torch_function__`` only if the proxy stands where a tensor could. As a size among
varargs (``torch.zeros(n, 4)``), a bound of a slice of a real tensor, or a dtype, it is refused with a TypeError. Others
ask for its value first, and do without: they are here lest that be taken for a failure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from fxcore.patching import PatchScope

Call = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""How to call one of them: function, arguments -> what the call returns."""

# fmt: off
_FUNCTIONS = (
    "arange", "as_strided", "as_tensor", "broadcast_shapes", "empty", "eye", "finfo", "from_numpy", "full", "iinfo",
    "kthvalue", "linspace", "logspace", "narrow", "ones", "rand", "randint", "randn", "randperm", "roll", "select",
    "tensor", "topk", "tril", "triu", "zeros",
)
_METHODS = (
    "__getitem__", "as_strided", "expand", "kthvalue", "narrow", "new_empty", "new_full", "new_ones", "new_tensor",
    "new_zeros", "permute", "repeat", "reshape", "resize_", "roll", "select", "split_with_sizes", "sum", "tile", "to",
    "topk", "tril", "triu", "unflatten", "view",
)
# fmt: on


def soften_calls(patches: PatchScope, call: Call) -> None:
    """Until ``patches`` ends, have these functions called by ``call``."""
    for name in _FUNCTIONS:
        patches.replace(torch.__dict__, name, functools.partial(_soft, call))
    for name in _METHODS:
        patches.replace(torch.Tensor, name, functools.partial(_soft, call))


def soften_imports(patches: PatchScope, call: Call, namespace: dict[str, Any]) -> None:
    """The same for the functions that a module has imported from other packages, torch's aside."""
    package = _package(namespace.get("__name__"))
    for name, value in list(namespace.items()):
        if isinstance(value, FunctionType) and _package(value.__module__) not in (package, "torch", "fxcore"):
            patches.replace(namespace, name, functools.partial(_soft, call))


def _package(module: object) -> str:
    return str(module).partition(".")[0]


def _soft(call: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def softly(*args: Any, **kwargs: Any) -> Any:
        return call(function, args, kwargs)

    return softly
