"""`symbolic_trace`, and the other names that programs import from ``torch.fx._symbolic_trace``."""

from __future__ import annotations

import builtins
import contextlib
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import torch

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import base_types, map_aggregate
from fxcore.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from fxcore.torch_compat import CONSTANT_TYPES, FakeScriptObject, torch_pytree
from fxcore.tracer import Tracer
from fxcore.tracing.patching import PatchScope
from fxcore.tracing.proxyable import ProxyableClassMeta, _proxyable_classes
from fxcore.tracing.signature import PH, PHBase, PHWithMeta, _assert_is_none
from fxcore.tracing.signature import taking_all_by_position as _patch_function
from fxcore.tracing.trace_session import _module_call as _orig_module_call
from fxcore.tracing.trace_session import _module_getattr as _orig_module_getattr
from fxcore.tracing.trace_session import is_fx_symbolic_tracing, is_fx_tracing
from fxcore.wrap import _wrapped_fns_to_patch, _wrapped_methods_to_patch, replace_functions, replace_wrapped, wrap
from fxcore.wrap import find_proxy as _find_proxy
from fxcore.wrap import recorded as _create_wrapped_func

__all__ = [
    "HAS_VARSTUFF",
    "PH",
    "Graph",
    "GraphModule",
    "PHBase",
    "PHWithMeta",
    "ParameterProxy",
    "Proxy",
    "ProxyableClassMeta",
    "Scope",
    "ScopeContextManager",
    "Tracer",
    "TracerBase",
    "_ConstantAttributeType",
    "_Patcher",
    "_assert_is_none",
    "_autowrap_check",
    "_constant_attribute_types",
    "_create_wrapped_func",
    "_find_proxy",
    "_orig_module_call",
    "_orig_module_getattr",
    "_patch_function",
    "_patch_wrapped_functions",
    "_proxyable_classes",
    "_wrapped_fns_to_patch",
    "_wrapped_methods_to_patch",
    "base_types",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "map_aggregate",
    "symbolic_trace",
    "wrap",
]

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
"""The flags of code that takes ``*args`` or ``**kwargs``; `_patch_function` makes each of these a single parameter."""

_ConstantAttributeType: TypeAlias = torch.Tensor | torch.ScriptObject | FakeScriptObject | torch_pytree.TreeSpec
_constant_attribute_types = CONSTANT_TYPES


def symbolic_trace(
    root: torch.nn.Module | Callable[..., Any],
    concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
) -> GraphModule:
    """Trace ``root``, a module or a function, and return a graph module that does the same.

    ``concrete_args`` fixes parameters to values, so that the trace can branch on them and iterate over them; a `PH`
    inside a container among these values stands for an input. Where possible, the result checks that it is called with
    the fixed values.

    Raises what `Tracer.trace` raises: a `fxcore.failures.TraceFailure` if ``root`` can't be traced.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


# The following is for tracers, written for torch.fx, that override `Tracer.trace`: while they trace, they replace
# methods of ``torch.nn.Module`` and wrapped functions themselves. For fxcore's own traces,
# `fxcore.tracing.trace_session` does that.


class _Patcher(PatchScope):
    """A context manager that replaces functions and methods, and restores them at its exit, in reverse order."""

    def __init__(self) -> None:
        super().__init__()
        self._undo = contextlib.ExitStack()
        self._visited: set[int] = set()

    def patch(
        self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Replace a module's global, or a builtin in that module, with ``new_fn``.

        ``frame_dict`` is the module's globals dict. ``deduplicate`` is accepted for programs that pass it, and ignored,
        as in torch.fx. Raises KeyError if the name doesn't exist.
        """
        if name in frame_dict:
            self._undo.callback(frame_dict.__setitem__, name, frame_dict[name])
        elif hasattr(builtins, name):
            self._undo.callback(frame_dict.__delitem__, name)
        else:
            raise KeyError(name)
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Replace a method of a class, as `patch` does. Raises AttributeError if the class has no such attribute."""
        self._undo.callback(setattr, cls, name, getattr(cls, name))
        setattr(cls, name, new_fn)

    def visit_once(self, thing: object) -> bool:
        """Whether this is the first call to this method with ``thing``, compared by identity."""
        first = id(thing) not in self._visited
        self._visited.add(id(thing))
        return first

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.close()
        super().__exit__(*error)


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Make traces record calls to all wrapped functions and methods until ``patcher`` exits."""
    replace_wrapped(patcher)


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: Collection[int]) -> None:
    """Make traces record calls to the public functions in a module's globals whose ids are in ``function_ids``."""
    if patcher.visit_once(frame_dict):
        replace_functions(patcher, frame_dict, set(function_ids))
