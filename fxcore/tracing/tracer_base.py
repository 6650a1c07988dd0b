"""What a `fxcore.Proxy` needs of its tracer: the hooks that say how a thing is recorded, or that it can't be."""

from __future__ import annotations

import collections
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fxcore.failures import (
    ContainmentFailure,
    ControlFlowFailure,
    ConversionFailure,
    ItemAssignmentFailure,
    IterationFailure,
    LenFailure,
    TraceFailure,
)
from fxcore.graph import Graph
from fxcore.node import Argument, Node, Target
from fxcore.operator_schemas import check_for_mutable_operation
from fxcore.source import Place, is_user_file
from fxcore.traceback import has_preserved_node_meta, inherit
from fxcore.tracing import arguments

if TYPE_CHECKING:
    from fxcore.proxy import Proxy


class Scope:
    """A module that is being traced: its qualified name below the root ("" for the root) and its type (None there)."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Makes ``scope`` equal to ``current_scope`` from its construction until its exit."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._outer = scope.module_path, scope.module_type
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._scope.module_path, self._scope.module_type = self._outer


class TracerBase:
    """What a `Proxy` needs of its tracer: a graph to record into, and the hooks that say how.

    `fxcore.Tracer` is the one that traces modules; `GraphAppendingTracer` the one for proxies made by hand.
    """

    graph: Graph
    # What `proxy` makes. `fxcore.proxy` sets it, because that imports this module.
    _proxy_class: type[Proxy]
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
        return self._proxy_class(node, self)

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
        return self.fail(  # type: ignore[no-any-return]
            ControlFlowFailure, f"`{obj.node}` is a traced value: whether it is true is not known while tracing", obj
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The items of ``obj``, except where a fixed number of names is unpacked into. Raises an `IterationFailure`."""
        return self.fail(  # type: ignore[no-any-return]
            IterationFailure, f"`{obj.node}` is a traced value: its number of items is not known while tracing", obj
        )

    def keys(self, obj: Proxy) -> Any:
        """What ``obj.keys()`` returns, which is also what ``**obj`` asks for: recorded as any method's call."""
        return obj.tracer.create_proxy("call_method", "keys", (obj,), {})

    def len(self, obj: Proxy) -> int:
        """What ``len(obj)`` returns. Raises a `LenFailure`, a RuntimeError: `fxcore.wrap("len")` records the call."""
        message = f"`{obj.node}` is a traced value: its length is not known yet. fxcore.wrap('len') records the call"
        return self.fail(LenFailure, message, obj)  # type: ignore[no-any-return]

    def convert(self, obj: Proxy, to: str) -> Any:
        """``obj`` as an ``int``, ``float``, ``complex``, ``index``, ``round`` or ``format``: a `ConversionFailure`."""
        return self.fail(
            ConversionFailure, f"`{obj.node}` is a traced value: the result of {to}() is not known while tracing", obj
        )

    def contains(self, obj: Proxy, item: Any) -> bool:
        """Whether ``item in obj``. Raises a `ContainmentFailure`, unless the tracer can iterate over ``obj``."""
        if not self._iterates():
            return self.fail(  # type: ignore[no-any-return]
                ContainmentFailure, f"`{obj.node}` is a traced value: what it contains is not known while tracing", obj
            )
        return any(item is found or item == found for found in self.iter(obj))

    def _iterates(self) -> bool:
        """Whether the tracer answers `iter` in a way of its own."""
        return type(self).iter is not TracerBase.iter

    def setitem(self, obj: Proxy, key: Any, value: Any) -> None:
        """``obj[key] = value``. Raises an `ItemAssignmentFailure`, a TypeError."""
        self.fail(
            ItemAssignmentFailure, f"`{obj.node}` is a traced value: assignments to its items can't be recorded", obj
        )

    def delitem(self, obj: Proxy, key: Any) -> None:
        """``del obj[key]``. Raises an `ItemAssignmentFailure`, a TypeError."""
        self.fail(
            ItemAssignmentFailure, f"`{obj.node}` is a traced value: deletions of its items can't be recorded", obj
        )

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
