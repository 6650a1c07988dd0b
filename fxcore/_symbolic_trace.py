"""Tracing in one call, and the names of tracing under the path by which torch.fx's programs import them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import base_types, map_aggregate
from fxcore.patcher import _autowrap_check, _patch_wrapped_functions, _Patcher
from fxcore.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from fxcore.proxyable import ProxyableClassMeta, _proxyable_classes
from fxcore.session import _module_call as _orig_module_call
from fxcore.session import _module_getattr as _orig_module_getattr
from fxcore.session import is_fx_symbolic_tracing, is_fx_tracing
from fxcore.signature import PH, PHBase, PHWithMeta, _assert_is_none
from fxcore.signature import taking_all_by_position as _patch_function
from fxcore.torch_compat import CONSTANT_TYPES, FakeScriptObject, torch_pytree
from fxcore.tracer import Tracer
from fxcore.wrap import _wrapped_fns_to_patch, _wrapped_methods_to_patch, wrap
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
"""The flags of code that takes ``*args`` or ``**kwargs``: `_patch_function` makes it take them as one value each."""

_ConstantAttributeType: TypeAlias = torch.Tensor | torch.ScriptObject | FakeScriptObject | torch_pytree.TreeSpec
_constant_attribute_types = CONSTANT_TYPES


def symbolic_trace(
    root: torch.nn.Module | Callable[..., Any],
    concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
) -> GraphModule:
    """A module that does what ``root``, a module or a function, does: as a graph that can be read and changed.

    ``concrete_args`` fixes parameters to values, so that the trace can branch on them and iterate over them; `PH`
    within a container there stands for an input. The result checks where it can that it gets the fixed values.

    Raises what `Tracer.trace` raises: a `fxcore.failures.TraceFailure` where ``root`` can't be traced.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
