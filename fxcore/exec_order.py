"""Record the order in which a module's forward uses submodules and parameters, while any tracer traces it.

Data-parallel training with sharded parameters (FSDP) gathers parameters in this order. This module follows PyTorch's
``torch.distributed.fsdp._trace_utils``, and also defines the names with an underscore from there.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from fxcore.proxy import Proxy
from fxcore.source import Place, user_place
from fxcore.torch_compat import is_proxy_of_torch_fx, torch_pytree
from fxcore.tracer import TRACE_CODE, Tracer
from fxcore.tracing.wrapped_methods import wrapped_methods

__all__ = ["ExecOrderTracer", "ExecutionInfo", "ParamUsageInfo", "TracingConfig"]


@dataclass
class TracingConfig:
    """How to trace: the tracer, and the ``concrete_args`` for its ``trace``."""

    tracer: Any = field(default_factory=Tracer)
    concrete_args: dict[str, Any] | None = None


class ParamUsageInfo(NamedTuple):
    """Parameters that are used together: by a call to a function or method, or by a call to a module.

    If a function or method was called, ``module`` is the module whose forward called it, and the names in
    ``named_params`` are relative to the root. If a module was called, ``module`` is that module, and the names are
    relative to it.
    """

    module: torch.nn.Module
    named_params: list[tuple[str, torch.nn.Parameter]]


@dataclass(eq=False)
class ModuleCall:
    """One call to a module: where it was made, and what it returned."""

    module: torch.nn.Module
    place: Place | None
    """Where the user's code calls the module."""
    result: Any = None
    """What the call returned; the results of recorded operations are proxies."""


class ExecutionInfo:
    """The modules and parameters that a forward used, in order."""

    def __init__(self, root_module: torch.nn.Module) -> None:
        self.curr_module = root_module
        """The module whose forward is being traced."""
        self.module_forward_order = [root_module]
        """The modules in the order in which their forwards began, one entry for each call."""
        self.calls: list[ModuleCall] = []
        """The calls in ``module_forward_order`` except the root's, each with its place and result."""
        self.module_to_param_usage_infos: dict[torch.nn.Module, list[ParamUsageInfo]] = {root_module: []}
        """For each module that was called, the parameters that its forward used, in order."""
        self.param_forward_order: list[torch.nn.Parameter] = []
        """The parameters in the order of their first use."""
        self.visited_params: set[torch.nn.Parameter] = set()
        """The parameters in ``param_forward_order``, as a set."""

    def use(self, named_params: list[tuple[str, torch.nn.Parameter]]) -> None:
        """Record that the current module uses these parameters together."""
        if named_params:
            self.module_to_param_usage_infos[self.curr_module].append(ParamUsageInfo(self.curr_module, named_params))
        for _, param in named_params:
            if param not in self.visited_params:
                self.visited_params.add(param)
                self.param_forward_order.append(param)


class ExecOrderTracer:
    """Records an `ExecutionInfo` in ``exec_info`` while a tracer traces.

    By default, uses are counted as in PyTorch: only a parameter that is itself a positional argument of a function or
    method counts, and if a module is called twice, only what its last call used is kept. With ``deep``, parameters in
    keyword arguments and within containers count too, and what each call used is kept.
    """

    def __init__(self, deep: bool = False) -> None:
        self.deep = deep
        self.exec_info: ExecutionInfo | None = None

    @contextmanager
    def patch_tracer(self, tracer: Any, root_module: torch.nn.Module) -> Iterator[None]:
        """Within the block, record ``tracer``'s trace of ``root_module``. Afterwards the tracer is restored."""
        info = self.exec_info = ExecutionInfo(root_module)
        names = dict(root_module.named_parameters())
        wrappers = {
            "call_module": functools.partial(self._call_module, info),
            "create_proxy": functools.partial(self._create_proxy, info, names),
        }
        with wrapped_methods(tracer, wrappers):
            yield

    def _call_module(
        self, info: ExecutionInfo, call_module: Callable[..., Any], module: torch.nn.Module, *call: Any, **options: Any
    ) -> Any:
        caller = info.curr_module
        noted = ModuleCall(module, user_place(sys._getframe(1), TRACE_CODE))
        info.calls.append(noted)
        info.module_forward_order.append(module)
        named_params = list(module.named_parameters())
        if named_params:
            info.module_to_param_usage_infos[caller].append(ParamUsageInfo(module, named_params))
        if not self.deep or module not in info.module_to_param_usage_infos:
            info.module_to_param_usage_infos[module] = []
        info.curr_module = module
        try:
            noted.result = call_module(module, *call, **options)
            return noted.result
        finally:
            info.curr_module = caller

    def _create_proxy(
        self,
        info: ExecutionInfo,
        names: dict[str, torch.nn.Parameter],
        create_proxy: Callable[..., Any],
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *options: Any,
        **named_options: Any,
    ) -> Any:
        proxy = create_proxy(kind, target, args, kwargs, *options, **named_options)
        if kind in ("call_function", "call_method"):
            values = torch_pytree.tree_leaves((args, kwargs)) if self.deep else args
            info.use([found for value in values if (found := _parameter(value, names)) is not None])
        elif kind == "call_module":
            info.use(list(info.curr_module.named_parameters()))
        return proxy


def _parameter(value: Any, names: dict[str, torch.nn.Parameter]) -> tuple[str, torch.nn.Parameter] | None:
    """The name and the parameter that a traced value stands for; None for any other value."""
    if not isinstance(value, Proxy) and not is_proxy_of_torch_fx(value):
        return None
    target = value.node.target
    return (target, names[target]) if target in names else None


_ExecOrderTracer = ExecOrderTracer
_ExecutionInfo = ExecutionInfo
_ParamUsageInfo = ParamUsageInfo
