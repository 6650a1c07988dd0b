"""Records calls to torch functions that have traced values among their arguments."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import torch

from fxcore.failures import HigherOrderFailure, TwoTracersFailure
from fxcore.torch_compat import HigherOrderOperator, ScriptMethod, torch_pytree

if TYPE_CHECKING:
    from fxcore.proxy import Proxy, TracerBase

# Torch's own function is slow: it silences warnings around a look-up in a set.
_is_method = functools.lru_cache(maxsize=1024)(torch.overrides.is_tensor_method_or_property)

_PYTHON_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


def record_torch_function(
    proxy_type: type[Proxy], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Proxy:
    """Record the call with the tracer of the ``proxy_type`` values among its arguments; return a proxy for the result.

    Raises a `TwoTracersFailure` if those values belong to different traces, and a `HigherOrderFailure` if a
    higher-order operator is passed a Python function.
    """
    tracer = _the_tracer(proxy_type, function, args, kwargs)
    if isinstance(function, ScriptMethod):
        return tracer.create_proxy("call_method", function.name, (function.owner, *args), kwargs)
    if _is_method(function):
        return tracer.create_proxy("call_method", function.__name__, args, kwargs)
    if isinstance(function, HigherOrderOperator):
        _refuse_python_functions(tracer, function, args, kwargs)
    return tracer.create_proxy(
        "call_function", function, args, kwargs, name=tracer.graph._target_to_str(function.__name__)
    )


def _the_tracer(proxy_type: type[Proxy], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TracerBase:
    tracers: dict[TracerBase, None] = {}
    for arg in args:
        _collect_tracers(proxy_type, arg, tracers)
    for arg in kwargs.values():
        _collect_tracers(proxy_type, arg, tracers)
    tracer = next(iter(tracers))
    if len(tracers) > 1:
        tracer.fail(TwoTracersFailure, f"{function} was called with values from {len(tracers)} different traces")
    return tracer


def _collect_tracers(proxy_type: type[Proxy], value: Any, tracers: dict[TracerBase, None]) -> None:
    if isinstance(value, proxy_type):
        tracers[value.tracer] = None
    elif type(value) in (tuple, list):
        for item in value:
            _collect_tracers(proxy_type, item, tracers)
    elif type(value) in torch_pytree.SUPPORTED_NODES:
        for leaf in torch_pytree.tree_leaves(value):
            if isinstance(leaf, proxy_type):
                tracers[leaf.tracer] = None


def _refuse_python_functions(tracer: TracerBase, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in torch_pytree.tree_leaves((args, kwargs)):
        if isinstance(value, _PYTHON_FUNCTIONS):
            message = f"the operator {function} received {value}, whose computation can't be traced"
            tracer.fail(HigherOrderFailure, message)
