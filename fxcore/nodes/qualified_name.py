"""Finds the names under which generated code can refer to functions and types."""

from __future__ import annotations

import builtins
import inspect
import re
import types
from collections.abc import Callable
from typing import Any

import torch

# The names of torch's modules, except for the compilers', whose functions can't be reached as attributes of torch.
_reachable_from_torch = re.compile(r"torch(?:\.(?!_dynamo\.|_inductor\.)[^.]+)*").fullmatch


def _is_from_torch(obj: object) -> bool:
    """Whether generated code can reach ``obj`` through the global ``torch``."""
    module = getattr(obj, "__module__", None)
    if module is not None:
        return _reachable_from_torch(module) is not None
    name = getattr(obj, "__name__", None)
    if name is None or name == "torch":
        return False
    return any(getattr(place, name, None) is obj for place in (torch, torch.nn.functional))


def _find_module_of_method(orig_method: Callable[..., Any]) -> str:
    """The name of the module in which to look up a function.

    Raises ``RuntimeError`` if the function has no ``__module__`` and isn't torch's.
    """
    module: str | None = orig_method.__module__
    if module is not None:
        return module
    for place in (torch, torch.nn.functional):
        if getattr(place, orig_method.__name__, None) is orig_method:
            return place.__name__
    raise RuntimeError(f"the module that defines {orig_method} could not be determined")


def _is_tensor_method(func: Callable[..., Any]) -> bool:
    name = func.__name__
    is_slot = isinstance(func, types.MethodDescriptorType | types.WrapperDescriptorType)
    if is_slot and func is getattr(torch.Tensor, name, None):
        return True
    return func.__module__ == "torch._tensor" and func.__qualname__ == f"Tensor.{name}"


def _name_of_lambda(func: Callable[..., Any]) -> str:
    """The name that a lambda was assigned to, read from its source. Raises ``RuntimeError`` if it has no source."""
    try:
        return inspect.getsource(func).split("=")[0].strip()
    except Exception as error:
        raise RuntimeError("a lambda without source code has no name that generated code can call it by") from error


def _get_qualified_name(func: Callable[..., Any]) -> str:
    """The dotted name of ``func``, e.g. ``torch.relu``; the name of a builtin has no module."""
    name: str = func.__name__
    if getattr(builtins, name, None) is func:
        return name
    if _is_tensor_method(func):
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        name = _name_of_lambda(func)
    # The module of an operator is `torch._ops.aten`, but the operator is found under `torch.ops.aten`.
    module = _find_module_of_method(func).replace("torch._ops", "torch.ops")
    if module == "torch" and name == "segment_reduce":
        name = "_segment_reduce"
    if module == "torch.nn.functional" and name in ("_ScalingType", "_SwizzleType"):
        name = name[1:]
    return f"{module}.{name}"


def _type_repr(obj: object) -> str:
    """A type as an annotation would spell it: ``int``, ``torch.Tensor``; for other objects, their ``repr``."""
    is_alias = isinstance(obj, types.GenericAlias)  # which Python 3.10 treats as a type, too
    if isinstance(obj, type) and not is_alias:
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)
