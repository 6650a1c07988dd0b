"""The values in a traced program: a `Proxy` stands for what a node will compute, and records operations as nodes.

The proxy's tracer decides whether and how an operation is recorded: each operation here calls one of the hooks of
`TracerBase` (in ``tracer_base.py``), which subclasses can override.
"""

from __future__ import annotations

import copy
import logging
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from fxcore.code.operator_templates import magic_methods, reflectable_magic_methods
from fxcore.failures import BackwardHookFailure, TraceError
from fxcore.node import Argument, Node, base_types
from fxcore.source.bytecode import is_assertion, unpack_count
from fxcore.torch_compat import torch_fx_class
from fxcore.tracing import arguments
from fxcore.tracing.torch_functions import record_torch_function
from fxcore.tracing.tracer_base import GraphAppendingTracer, Scope, ScopeContextManager, TracerBase

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "MetaProxy",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
    "assert_fn",
    "base_types",
]

_OF_MODULES = torch.nn.Module.__init__.__code__.co_filename
"""Torch's file that calls modules. It takes items of what a module returns only to find a tensor for backward hooks."""

_log = logging.getLogger(__name__)


def assert_fn(x: object) -> None:
    """The function that a recorded ``assert x`` calls. Raises AssertionError unless ``x`` is true."""
    if not x:
        raise AssertionError("an assertion in the traced program failed")


class Proxy:
    """A value in the traced program that stands for what ``node`` will compute.

    Operators, methods, attributes and torch functions applied to the proxy are recorded as nodes, and their results are
    also proxies. Operations that need the actual value (a branch, a loop, ``len``, ``int``) fail.

    A proxy made by hand, ``Proxy(node)``, records into ``node``'s graph, at the insertion point.
    """

    tracer: TracerBase
    node: Node

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return known_class(self)

    _known_as = "Proxy"

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __fx_create_arg__(self, tracer: TracerBase) -> Argument:
        return self.node

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Record a call to the value itself."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        """The value's keys, as the tracer's hook returns them; by default a recorded call to the ``keys`` method."""
        return self.tracer.keys(self)

    # Operations for which Python needs an actual result at once.

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            caller = sys._getframe(1)
            if is_assertion(caller.f_code, caller.f_lasti):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    def __iter__(self) -> Iterator[Any]:
        caller = sys._getframe(1)
        count = unpack_count(caller.f_code, caller.f_lasti)
        if count is not None:
            return (self.__getitem__(index) for index in range(count))
        return self.tracer.iter(self)

    def __len__(self) -> int:
        return self.tracer.len(self)

    def __contains__(self, item: object) -> bool:
        return self.tracer.contains(self, item)

    def __getitem__(self, key: Any) -> Proxy:
        if sys._getframe(1).f_code.co_filename == _OF_MODULES:
            message = (
                f"`{self.node}` is a traced value, in which torch finds no tensor to register a backward hook with"
            )
            self.tracer.fail(BackwardHookFailure, message, self)
        return self.tracer.create_proxy("call_function", operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.setitem(self, key, value)

    def __delitem__(self, key: Any) -> None:
        self.tracer.delitem(self, key)

    def __index__(self) -> int:
        return self.tracer.convert(self, "index")  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self.tracer.convert(self, "int")  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self.tracer.convert(self, "float")  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self.tracer.convert(self, "complex")  # type: ignore[no-any-return]

    def __round__(self, ndigits: int | None = None) -> Any:
        return self.tracer.convert(self, "round")

    def __format__(self, format_spec: str) -> str:
        return self.tracer.convert(self, "format") if format_spec else str(self)

    # Copies. Without `__getstate__` and `__setstate__`, `copy` and `pickle` would get an `Attribute` for each.

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        clone = Proxy.__new__(Proxy)
        for name, value in self.__dict__.items():
            clone.__dict__[name] = self._deepcopy_or_copy(name, value, memo)
        return clone

    def _deepcopy_or_copy(self, name: str, value: Any, memo: dict[int, Any]) -> Any:
        try:
            return copy.deepcopy(value, memo)
        except Exception:
            _log.warning(
                "the attribute %r could not be deep-copied: the copy of %r has a shallow copy of it", name, self
            )
            return copy.copy(value)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record a call to a torch function that has a proxy among its arguments."""
        return record_torch_function(cls, orig_method, args or (), kwargs or {})


def known_class(proxy: Proxy) -> type:
    """The class that a traced value reports to `isinstance`.

    Libraries test `isinstance(x, torch.fx.Proxy)` to find out whether they are being traced: that test must be true.
    """
    return torch_fx_class(proxy._known_as, type(proxy))


class Attribute(Proxy):
    """An attribute of a traced value. Reading it is recorded at its first use; calling it records a method call."""

    _known_as = "Attribute"

    def __init__(self, root: Proxy, attr: str) -> None:
        self.tracer = root.tracer
        self.root, self.attr = root, attr
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, made at its first use."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Record a call to the method."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known: reading its sizes returns actual numbers and records nothing."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: torch.nn.Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"'{name}' must be a Parameter, not {type(param)}")
        self.name, self.param = name, param

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    def dim(self) -> int:
        """How many dimensions the parameter has."""
        return self.param.dim()

    def size(self) -> torch.Size:
        """The size of each dimension of the parameter."""
        return self.param.size()

    def numel(self) -> int:
        """How many elements the parameter has."""
        return self.param.numel()

    nelement = numel
    ndim = property(dim)
    shape = property(size)


class MetaProxy(Proxy):
    """A value that also carries an example of itself in ``node.meta["val"]``, computed under ``fake_mode``."""

    def __init__(self, node: Node, tracer: TracerBase | None = None, fake_mode: Any = None) -> None:
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self) -> str:
        return f"MetaProxy({self.node.name})"

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> MetaProxy:
        """Record the call, and compute the result's example by making the call with the arguments' examples."""
        args, kwargs = args or (), kwargs or {}
        example = next((arg for arg in args if isinstance(arg, MetaProxy)), None)
        if example is None:
            raise AssertionError(f"at least one positional argument of {orig_method} must be a MetaProxy")
        proxy = super().__torch_function__(orig_method, types, args, kwargs)
        examples = [arg.node.meta["val"] if isinstance(arg, Proxy) else arg for arg in args]
        with example.fake_mode:
            proxy.node.meta["val"] = orig_method(*examples, **kwargs)
        return MetaProxy(proxy.node, proxy.tracer, example.fake_mode)


def _recorder(function: Callable[..., Any]) -> Callable[..., Any]:
    def record(*operands: Any) -> Proxy:
        tracer: TracerBase = operands[0].tracer
        return tracer.create_proxy("call_function", function, operands, {})

    return record


def _reflected_recorder(function: Callable[..., Any]) -> Callable[..., Any]:
    def record(right: Proxy, left: Any) -> Proxy:
        return right.tracer.create_proxy("call_function", function, (left, right), {})

    return record


for _name in magic_methods:
    if hasattr(operator, _name) and _name != "getitem":  # that is defined above; only Python 2 had "div"
        setattr(Proxy, f"__{_name.strip('_')}__", _recorder(getattr(operator, _name)))
for _name in reflectable_magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_recorder(getattr(operator, _name)))

TracerBase._proxy_class = Proxy
arguments.HANDLERS[Proxy] = arguments.HANDLERS[Attribute] = lambda tracer, value: value.node
