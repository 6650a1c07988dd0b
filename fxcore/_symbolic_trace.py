"""Tracing in one call, and the names of tracing under the path by which torch.fx's programs import them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from fxcore.graph_module import GraphModule
from fxcore.proxyable import ProxyableClassMeta
from fxcore.session import is_fx_symbolic_tracing, is_fx_tracing
from fxcore.signature import PH, PHBase, PHWithMeta, _assert_is_none
from fxcore.tracer import Tracer
from fxcore.wrap import _wrapped_fns_to_patch, _wrapped_methods_to_patch, wrap

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "_assert_is_none",
    "_wrapped_fns_to_patch",
    "_wrapped_methods_to_patch",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]


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
