"""The values that record: a `Proxy` stands for what a node will compute, and turns what is done with it into nodes.

How a thing is recorded, or that it can't be, is for the proxy's tracer to say: each operation here is a call of one of
the hooks of `TracerBase`, and those can be overridden.
"""

from __future__ import annotations

import collections
import copy
import logging
import operator
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch

from fxcore import arguments
from fxcore.bytecode import is_assertion, unpack_count
from fxcore.failures import (
    ContainmentFailure,
    ControlFlowFailure,
    ConversionFailure,
    ItemAssignmentFailure,
    IterationFailure,
    LenFailure,
    TraceError,
    TraceFailure,
)
from fxcore.graph import Graph
from fxcore.node import Argument, Node, Target, base_types
from fxcore.operator_schemas import check_for_mutable_operation
from fxcore.operators import magic_methods, reflectable_magic_methods
from fxcore.scope import Scope, ScopeContextManager
from fxcore.source import Place, is_user_file
from fxcore.torch_compat import torch_fx_class
from fxcore.torch_functions import record_torch_function
from fxcore.traceback import has_preserved_node_meta, inherit

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

_log = logging.getLogger(__name__)


class TracerBase:
    """What a `Proxy` needs of its tracer: a graph to record into, and the hooks that say how.

    `fxcore.Tracer` is the one that traces modules; `GraphAppendingTracer` the one for proxies made by hand.
    """

    graph: Graph
    traced_func_name: str = "forward"
    """The method that is traced where the root is a module."""
    trace_asserts: bool = False
    """Whether ``assert x`` is recorded as a call of `assert_fn`, rather than being control flow."""
    proxy_buffer_attributes: bool = False
    """Whether a buffer that is read gives a proxy, as a parameter does, rather than the tensor."""
    check_mutable_operations: bool = False
    """Whether a call of an operator that changes its arguments raises RuntimeError."""
    record_stack_traces: bool = False
    """Whether every node gets a ``stack_trace``: the running functions as text, from the first ``forward`` inwards."""

    module_stack: OrderedDict[str, tuple[str, Any]]
    """The modules that are being called, outermost first: for each its qualified name and type."""
    scope: Scope
    """The module whose forward is running."""
    node_name_to_scope: dict[str, tuple[str, type]]
    """For each node's name the qualified name and type of the module that it was made in."""

    # Recording.

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a node to the graph, with what is known of where it comes from. Every recorded node comes by here.

        Raises RuntimeError for an operator that changes its arguments, where ``check_mutable_operations`` is set.
        """
        if self.check_mutable_operations and callable(target):
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        node.where = self.place()
        scope = self.scope
        self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        if has_preserved_node_meta():
            inherit(node)
        elif self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        if self.record_stack_traces and not node.stack_trace:
            self._record_stack_trace(node)
        return node

    def place(self) -> Place | None:
        """Where the user's program stands, for the node that is being made; None where that means nothing."""
        return None

    def proxy(self, node: Node) -> Proxy:
        """The value that stands for ``node`` in the traced program."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Record an operation, and return the value that stands for its result.

        The arguments are the program's own, lowered here by `create_arg`. For a ``placeholder``, ``args`` holds the
        default value, if there is one. ``proxy_factory_fn`` makes the value in place of `proxy`.
        """
        lowered = self.create_arg(args)
        lowered_kwargs = self.create_arg(kwargs) if kwargs else {}
        node = self.create_node(kind, target, lowered, lowered_kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Argument:
        """The argument that stands for the value ``a`` in a node.

        A proxy becomes its node; tuples, lists, dicts, slices are entered; numbers, strings, dtypes and their like stay
        as they are. A type can say itself what it becomes, by a method ``__fx_create_arg__(self, tracer)``. Anything
        else is an `ArgumentFailure`, a NotImplementedError.
        """
        return arguments.lower(self, a)

    # What a trace can't go through. Each is a hook: a tracer that knows more may answer instead.

    def to_bool(self, obj: Proxy) -> bool:
        """Whether ``obj`` is true. Nobody knows while tracing: raises a `ControlFlowFailure`, a `TraceError`."""
        return self.fail(ControlFlowFailure, f"`{obj.node}` is a traced value: which way to go isn't known", obj)  # type: ignore[no-any-return]

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The items of ``obj``, except where a fixed number of names is unpacked into. Raises an `IterationFailure`."""
        return self.fail(IterationFailure, f"`{obj.node}` is a traced value: how many items it has isn't known", obj)  # type: ignore[no-any-return]

    def keys(self, obj: Proxy) -> Any:
        """What ``obj.keys()`` returns, which is also what ``**obj`` asks for: recorded as any method's call."""
        return Attribute(obj, "keys")()

    def len(self, obj: Proxy) -> int:
        """What ``len(obj)`` returns. Raises a `LenFailure`, a RuntimeError: `fxcore.wrap("len")` records the call."""
        message = f"`{obj.node}` is a traced value: its length isn't known. fxcore.wrap('len') records the call instead"
        return self.fail(LenFailure, message, obj)  # type: ignore[no-any-return]

    def convert(self, obj: Proxy, to: str) -> Any:
        """``obj`` as an ``int``, ``float``, ``complex``, ``index``, ``round`` or ``format``: a `ConversionFailure`."""
        return self.fail(ConversionFailure, f"`{obj.node}` is a traced value: {to}() of it isn't known", obj)

    def contains(self, obj: Proxy, item: Any) -> bool:
        """Whether ``item in obj``. Raises a `ContainmentFailure`, unless the tracer can iterate over ``obj``."""
        if not self._iterates():
            return self.fail(ContainmentFailure, f"`{obj.node}` is a traced value: what is in it isn't known", obj)  # type: ignore[no-any-return]
        return any(item is found or item == found for found in self.iter(obj))

    def _iterates(self) -> bool:
        """Whether the tracer answers `iter` in a way of its own."""
        return type(self).iter is not TracerBase.iter

    def setitem(self, obj: Proxy, key: Any, value: Any) -> None:
        """``obj[key] = value``. Raises an `ItemAssignmentFailure`, a TypeError."""
        self.fail(ItemAssignmentFailure, f"`{obj.node}` is a traced value: assigning to its items isn't recorded", obj)

    def delitem(self, obj: Proxy, key: Any) -> None:
        """``del obj[key]``. Raises an `ItemAssignmentFailure`, a TypeError."""
        self.fail(ItemAssignmentFailure, f"`{obj.node}` is a traced value: deleting its items isn't recorded", obj)

    def fail(self, failure: type[TraceFailure], message: str, value: Proxy | None = None) -> Any:
        """Every failure that fxcore finds by itself comes by here, to be raised.

        ``value`` is what was asked for something that isn't known, where it was that.
        """
        error = failure(message)
        error.node = None if value is None else value.node
        raise error

    def _record_stack_trace(self, node: Node) -> None:
        frames = traceback.extract_stack(sys._getframe(1))
        first = next((at for at, frame in enumerate(frames) if frame.name == "forward"), len(frames))
        user_frames = [frame for frame in frames[first:] if is_user_file(frame.filename)]
        if user_frames:
            node.stack_trace = "".join(traceback.StackSummary.from_list(user_frames).format()).strip()


class GraphAppendingTracer(TracerBase):
    """Records at the graph's insertion point what is done with proxies that were made by hand, ``Proxy(node)``."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x: object) -> None:
    """What a recorded ``assert x`` calls. Raises AssertionError unless ``x`` is true."""
    if not x:
        raise AssertionError("an assertion of the traced program doesn't hold")


class Proxy:
    """A value of the traced program: stands for what ``node`` will compute.

    Operators, methods, attributes and torch functions that it meets are recorded as nodes, whose results are proxies
    again. What would have to know the value itself (a branch, a loop, ``len``, ``int``) fails.

    Made by hand, ``Proxy(node)``, it adds to ``node``'s graph, at the insertion point.
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
        """Record a call of the value itself."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        """The value's keys, as the tracer has them; by default a recorded call of its method."""
        return self.tracer.keys(self)

    # What Python needs to know here and now.

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

    # Copies. Without these two, `copy` and `pickle` would be handed an Attribute for the method they look for.

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
            _log.warning("%r can't be copied deeply: the copy of %r shares what is in it", name, self)
            return copy.copy(value)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record a call of a torch function that has a proxy among its arguments."""
        return record_torch_function(cls, orig_method, args or (), kwargs or {})


def known_class(proxy: Proxy) -> type:
    """The class that `isinstance` takes a traced value for.

    Libraries ask `isinstance(x, torch.fx.Proxy)` to learn whether they are traced. They are.
    """
    return torch_fx_class(proxy._known_as, type(proxy))


class Attribute(Proxy):
    """The attribute of a value. Reading it is recorded only when it is used; calling it is a method's call."""

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
        """Record a call of the method."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter's value whose shape is known: what asks for its sizes gets the numbers, and isn't recorded."""

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
        """The parameter's sizes."""
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
        """Record the call, and make it once on the examples."""
        args, kwargs = args or (), kwargs or {}
        example = next((arg for arg in args if isinstance(arg, MetaProxy)), None)
        if example is None:
            raise AssertionError(f"{orig_method} needs a MetaProxy among its positional arguments")
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
    if hasattr(operator, _name):  # all but "div", which Python 2 had
        setattr(Proxy, f"__{_name.strip('_')}__", _recorder(getattr(operator, _name)))
for _name in reflectable_magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_recorder(getattr(operator, _name)))

arguments.HANDLERS[Proxy] = arguments.HANDLERS[Attribute] = lambda tracer, value: value.node
