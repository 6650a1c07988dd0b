"""Tracing a module: which calls are traced into or recorded, and what becomes of parameters and constants."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import itertools
import math
import sys
from collections.abc import Callable, Mapping
from types import CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import torch

from fxcore.failures import NotAParameterFailure, NotASubmoduleFailure, TraceFailure
from fxcore.graph import Graph
from fxcore.node import Argument
from fxcore.proxy import ParameterProxy, Proxy, Scope, TracerBase
from fxcore.source import Place, user_place
from fxcore.torch_compat import CONSTANT_TYPES, compile_lazy_graph_module, is_opaque_reference, torch_pytree
from fxcore.tracing import arguments
from fxcore.tracing.diagnosis import LastFailure, diagnose
from fxcore.tracing.patching import originals
from fxcore.tracing.proxyable import is_proxyable
from fxcore.tracing.qualified_state import QualifiedNames, constant_attributes
from fxcore.tracing.signature import bind_root, make_placeholder
from fxcore.tracing.trace_session import TraceSession, current

__all__ = ["Tracer"]


class Tracer(TracerBase):
    """Records what a module's forward, or a function, does with symbolic inputs: ``Tracer().trace(module)``.

    Subclasses change its behavior by overriding its methods: which modules are recorded as one call
    (`is_leaf_module`), what a module's call and attributes become (`call_module`, `getattr`), how a value is stored as
    an argument (`create_arg`), how a node and its value are made (`create_node`, `create_proxy`, `proxy`), and what
    happens where tracing can't continue (`to_bool`, `iter`, `len`, …, `fail`).

    ``autowrap_modules``: modules whose public functions are recorded as calls wherever they are called by a global
    name. ``autowrap_functions``: more such functions. ``param_shapes_constant``: the sizes of parameters are plain
    numbers in the traced program, and reading them isn't recorded.
    """

    root: torch.nn.Module
    """The module that is traced; for a function, an empty module."""

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_functions = autowrap_functions  # kept alive, so that nothing else can get their ids
        self._autowrap_function_ids = {id(function) for function in autowrap_functions} | {
            id(value)
            for module in autowrap_modules
            for name, value in originals(vars(module)).items()
            if callable(value) and not name.startswith("_")
        }
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[torch.nn.Module, str] | None = None
        self.root_module_name = ""
        self.tensor_attrs: dict[Any, str] = {}
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self._names: QualifiedNames | None = None
        self._last_numbers: dict[str, int] = {}  # in constants' names, so that no search has to begin at 0 again
        self._own_code = _method_codes(type(self))
        self._last_failure: LastFailure | None = None
        self._callers: list[Place | EllipsisType | None] = []  # of the modules that are traced into; see `user_place`

    # What subclasses override.

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        """Whether a module's call is recorded as one node, rather than its forward being traced.

        By default, this is true of all modules that come with torch, except `torch.nn.Sequential`.
        """
        return m.__module__.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod: torch.nn.Module) -> str:
        """The dotted path of ``mod`` below the root. Raises a `NotASubmoduleFailure` (a NameError) if there is none."""
        paths = self.submodule_paths
        path = paths.get(mod) if paths else self._qualified_names.of_module(mod)
        if path is None:
            message = f"the {type(mod).__qualname__} that was called is not a submodule of {self._described_root}"
            self.fail(NotASubmoduleFailure, message)
        return path  # type: ignore[return-value]

    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the call ``m(*args, **kwargs)`` returns to the traced program.

        By default, the call to a leaf module is recorded. Any other call is executed by ``forward(*args, **kwargs)``,
        which also runs the module's hooks.
        """
        path = self.path_of_module(m)
        scope = self.scope
        outer = scope.module_path, scope.module_type
        calls = self.num_calls.get(path, 0)
        self.num_calls[path] = calls + 1
        key = f"{path}@{calls}" if calls else path
        scope.module_path, scope.module_type = path, type(m)
        self.module_stack[key] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return self._trace_into(forward, args, kwargs)
        finally:
            del self.module_stack[key]
            scope.module_path, scope.module_type = outer

    def _trace_into(self, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._callers.append(...)
        try:
            return forward(*args, **kwargs)
        finally:
            self._callers.pop()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """The value that a module's attribute (parameter, buffer or submodule) has in the traced program.

        By default, a parameter of the root is a proxy, the same one at each use: ``parameter_proxy_cache`` maps the
        parameters' names to their proxies. If ``proxy_buffer_attributes`` is set, the same applies to buffers. Anything
        else is ``attr_val`` itself.
        """
        if not isinstance(attr_val, torch.Tensor):
            return attr_val
        name = None
        if isinstance(attr_val, torch.nn.Parameter):
            name = self._qualified_names.of_parameter(attr_val)
        elif self.proxy_buffer_attributes:
            name = self._qualified_names.of_buffer(attr_val)
        if name is None:
            return attr_val
        if name not in parameter_proxy_cache:
            parameter_proxy_cache[name] = self._attribute_proxy(name, attr_val)
        return parameter_proxy_cache[name]

    def _attribute_proxy(self, name: str, value: Any) -> Proxy:
        if self.param_shapes_constant and "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
            make = functools.partial(ParameterProxy, self, name=name, param=value)
            return self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=lambda node: make(node=node))
        return self.create_proxy("get_attr", name, (), {})

    def create_arg(self, a: Any) -> Argument:
        """The argument that stands for the value ``a`` in a node; see `TracerBase.create_arg`.

        Parameters, buffers and submodules of the root become ``get_attr`` nodes, and so do constants: a constant that
        is an attribute of a module is referred to by its path there, and any other is kept in ``graph.constants`` under
        a fresh name. A named tuple becomes a call to its class. Raises a `NotAParameterFailure` (a NameError) for a
        Parameter that the root doesn't own.
        """
        if type(a) is Proxy:
            return a.node
        handler = arguments.HANDLERS.get(type(a))
        if handler is not None:
            return handler(self, a)
        if isinstance(a, torch.Tensor | torch.nn.Module):
            name = self._path_of_state(a)
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        elif isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple([self.create_arg(item) for item in a]), {})
        if isinstance(a, CONSTANT_TYPES) or is_opaque_reference(a):
            if a not in self.tensor_attrs:
                self.tensor_attrs[a] = self._keep_constant(_constant_prefix(a), a)
            return self.create_node("get_attr", self.tensor_attrs[a], (), {})
        if is_proxyable(type(a)):
            return self.create_node("get_attr", self._keep_constant(f"_{type(a).__name__}_constant_", a), (), {})
        return arguments.rule_for(a)(self, a)

    def _path_of_state(self, value: torch.Tensor | torch.nn.Module) -> str | None:
        names = self._qualified_names
        if isinstance(value, torch.nn.Module):
            return names.of_module(value)
        if not isinstance(value, torch.nn.Parameter):
            return names.of_buffer(value)
        name = names.of_parameter(value)
        if name is None:
            message = f"the Parameter of shape {tuple(value.shape)} does not belong to {self._described_root}"
            self.fail(NotAParameterFailure, message)
        return name

    def _keep_constant(self, prefix: str, value: Any) -> str:
        name = self.get_fresh_qualname(prefix)
        self.graph.constants[name] = value
        return name

    def get_fresh_qualname(self, prefix: str) -> str:
        """``prefix`` with the first number that makes it a name unused by the root and by the graph's constants."""
        number = self._last_numbers.get(prefix, 0)
        while f"{prefix}{number}" in self.graph.constants or hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._last_numbers[prefix] = number
        return f"{prefix}{number}"

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Make the placeholders; return a function and the positional arguments to trace it with.

        ``root_fn`` is the traced function, unbound: if ``is_module``, its first argument is the root itself.
        """
        return bind_root(self, root_fn, is_module, concrete_args)

    def _proxy_placeholder(
        self,
        name: str,
        concrete_args: Mapping[str, Any] | None,
        sig: inspect.Signature,
        fn_for_analysis: Callable[..., Any],
    ) -> Any:
        return make_placeholder(self, name, concrete_args, sig, fn_for_analysis)

    def fail(self, failure: type[TraceFailure], message: str, value: Proxy | None = None) -> Any:
        """Raise a failure, and record where it happened, because C code may replace it with a different error."""
        self._last_failure = LastFailure(failure.kind, self.place(), None if value is None else value.node)
        return super().fail(failure, message, value)

    # The trace.

    def trace(
        self,
        root: torch.nn.Module | Callable[..., Any],
        concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    ) -> Graph:
        """Trace ``root``, a module or a function, and return the graph of what it does with its inputs.

        ``concrete_args`` gives parameters fixed values, by name (or all of them, as a tuple): they aren't symbolic in
        the trace, except where the value, or a leaf of the containers in it, is `PH`. ``self.root`` is the module that
        the graph refers to.

        Any `Exception` that ends the trace is raised as a `fxcore.failures.TraceFailure`, which is also an instance of
        the class that torch.fx raises. ``KeyboardInterrupt`` and ``SystemExit`` pass through. Whatever was changed for
        the trace is undone.
        """
        with TraceSession(self) as session:
            try:
                self._trace(root, concrete_args, session)
            except Exception as error:
                failure = diagnose(error, TRACE_CODE, session)
                if failure is error:
                    raise
                raise failure from error
            finally:
                self.submodule_paths = None
                self._names = None
        return self.graph

    def _trace(self, root: Any, concrete_args: Any, session: TraceSession) -> None:
        function = self._start(root)
        self._names = QualifiedNames(self.root)
        self._last_numbers = {}
        self.tensor_attrs = constant_attributes(self.root)
        if not isinstance(function, FunctionType):
            raise AssertionError(f"only functions and methods can be traced, not {function!r}")
        call, args = self.create_args_for_root(function, isinstance(root, torch.nn.Module), concrete_args)
        session.root_code = inspect.unwrap(function).__code__
        session.start_recording(function.__globals__)
        result = call(*args)
        session.returned = True
        annotation = inspect.get_annotations(inspect.unwrap(call)).get("return")
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=annotation)

    def _start(self, root: Any) -> Any:
        """Make ``root`` the tracer's root, with an empty graph; return the function to trace."""
        if isinstance(root, torch.nn.Module):
            compile_lazy_graph_module(root)
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"{type(root).__qualname__} has no method named {self.traced_func_name}")
            function = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()  # type: ignore[no-untyped-call]
            self.submodule_paths = {module: path for path, module in root.named_modules()}
        else:
            self.root = torch.nn.Module()
            function = root
        self.graph = Graph(tracer_cls=type(self))
        if hasattr(function, "__code__"):
            code = function.__code__
            self.graph._co_fields = {
                "co_name": code.co_name,
                "co_filename": code.co_filename,
                "co_firstlineno": code.co_firstlineno,
            }
        return function

    @property
    def _described_root(self) -> str:
        return "a function" if type(self.root) is torch.nn.Module else type(self.root).__qualname__

    @property
    def _qualified_names(self) -> QualifiedNames:
        # Outside a trace the root may change unnoticed, so the names are not cached.
        return self._names if self._names is not None else QualifiedNames(self.root)

    def place(self) -> Place | None:
        """The place that the traced program has reached; the tracer's methods, even user-defined ones, are skipped."""
        session = current()
        if session is None or session.tracer is not self:  # the calls on the stack may be another tracer's
            return user_place(sys._getframe(1), TRACE_CODE, self._own_code)
        return user_place(sys._getframe(1), TRACE_CODE, self._own_code, _CALL_CODE, self._callers)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        clone = Tracer.__new__(Tracer)
        for name, value in self.__dict__.items():  # modules and builtin functions can't be deep-copied
            shared = name in ("_autowrap_search", "_autowrap_functions")
            clone.__dict__[name] = value if shared else copy.deepcopy(value, memo)
        return clone


_CALL_CODE = Tracer._trace_into.__code__

TRACE_CODE = Tracer.trace.__code__
"""The code object of `Tracer.trace`, used to recognize the frame of the innermost trace."""


def _method_codes(cls: type[Tracer]) -> tuple[CodeType, ...]:
    """The code objects of the methods defined by ``cls`` and by those of its bases that come before `Tracer`."""
    above = itertools.takewhile(lambda base: base is not Tracer, cls.__mro__)
    return tuple(value.__code__ for base in above for value in vars(base).values() if isinstance(value, FunctionType))


def _constant_prefix(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return "_tensor_constant"
    if isinstance(value, torch_pytree.TreeSpec):
        return "_tree_spec_constant"
    return "_opaque_obj" if is_opaque_reference(value) else "_torchbind_obj"
