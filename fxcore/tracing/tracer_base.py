"""What an `fxcore.Proxy` needs from its tracer: the hooks that record an operation, or raise a failure."""

from __future__ import annotations

import collections
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fxcore.failures import (
    ArgumentFailure,
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
from fxcore.source.passed_on import passed_on
from fxcore.traceback import has_preserved_node_meta, inherit
from fxcore.tracing import arguments

if TYPE_CHECKING:
    from fxcore.proxy import Proxy


class Scope:
    """A module that is being traced: its qualified name and its type; for the root, these are "" and None."""

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
    """What a `Proxy` needs from its tracer: a graph to record into, and the hooks that decide what is recorded.

    `fxcore.Tracer` is the subclass that traces modules, `GraphAppendingTracer` the one for proxies made by hand.
    """

    graph: Graph
    # The class of the proxies that `proxy` makes; set by `fxcore.proxy`, which imports this module.
    _proxy_class: type[Proxy]
    traced_func_name: str = "forward"
    """The name of the method that is traced if the root is a module."""
    trace_asserts: bool = False
    """Whether ``assert x`` is recorded as a call to `assert_fn`, rather than being control flow."""
    proxy_buffer_attributes: bool = False
    """Whether reading a buffer returns a proxy, as reading a parameter does, rather than the tensor."""
    check_mutable_operations: bool = False
    """Whether a call to an operator that changes its arguments raises RuntimeError."""
    record_stack_traces: bool = False
    """Whether every node gets a ``stack_trace``: the user's stack as text, from the outermost ``forward`` inwards."""

    module_stack: OrderedDict[str, tuple[str, Any]]
    """The qualified names and types of the modules that are being called, outermost first."""
    scope: Scope
    """The module whose forward is running."""
    node_name_to_scope: dict[str, tuple[str, type]]
    """For each node's name, the qualified name and type of the module in which the node was recorded."""

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
        """Add a node to the graph, and record where it comes from. All recorded nodes are made by this method.

        Raises RuntimeError for an operator that changes its arguments if ``check_mutable_operations`` is set.
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
        """The place in the user's program that the node being made comes from; None if the tracer doesn't know."""
        return None

    def proxy(self, node: Node) -> Proxy:
        """Make the proxy that the traced program uses as the value of ``node``."""
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
        """Record an operation, and return a proxy for its result.

        The arguments are the program's values, which `create_arg` converts. For a ``placeholder``, ``args`` holds the
        default value, if there is one. ``proxy_factory_fn``, if given, makes the proxy instead of `proxy`.
        """
        lowered = self.create_arg(args)
        lowered_kwargs = self.create_arg(kwargs) if kwargs else {}
        node = self.create_node(kind, target, lowered, lowered_kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Argument:
        """Convert the value ``a`` to an argument that a node can hold.

        A proxy becomes its node; the items of tuples, lists, dicts and slices are converted; numbers, strings, dtypes
        and similar constants are kept unchanged. A type can define its own conversion as a method
        ``__fx_create_arg__(self, tracer)``. Any other value raises an `ArgumentFailure` (a NotImplementedError).
        """
        return arguments.lower(self, a)

    # Operations that can't be recorded. Each is a hook: a tracer that knows the result may override it to return that.

    def to_bool(self, obj: Proxy) -> bool:
        """Whether ``obj`` is true, which isn't known while tracing: raises a `ControlFlowFailure` (a `TraceError`)."""
        return self.fail(  # type: ignore[no-any-return]
            ControlFlowFailure, f"`{obj.node}` is a traced value: whether it is true is not known while tracing", obj
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The items of ``obj``: raises an `IterationFailure`.

        Not called when ``obj`` is unpacked to a fixed number of names, which is recorded.
        """
        return self.fail(  # type: ignore[no-any-return]
            IterationFailure, f"`{obj.node}` is a traced value: its number of items is not known while tracing", obj
        )

    def keys(self, obj: Proxy) -> Any:
        """What ``obj.keys()`` returns (``**obj`` also makes this call): by default, the call is recorded."""
        return obj.tracer.create_proxy("call_method", "keys", (obj,), {})

    def len(self, obj: Proxy) -> int:
        """What ``len(obj)`` returns: raises a `LenFailure` (a RuntimeError).

        After `fxcore.wrap("len")`, the call is recorded instead.
        """
        message = f"`{obj.node}` is a traced value: its length is not known yet. fxcore.wrap('len') records the call"
        return self.fail(LenFailure, message, obj)  # type: ignore[no-any-return]

    def convert(self, obj: Proxy, to: str) -> Any:
        """The result of ``int``, ``float``, ``complex``, ``index``, ``round`` or ``format``.

        Raises a `ConversionFailure`.
        """
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
        """Whether the tracer's class overrides `iter`."""
        return type(self).iter is not TracerBase.iter

    def setitem(self, obj: Proxy, key: Any, value: Any) -> None:
        """Called for ``obj[key] = value``. Raises an `ItemAssignmentFailure` (a TypeError)."""
        self.fail(
            ItemAssignmentFailure, f"`{obj.node}` is a traced value: assignments to its items can't be recorded", obj
        )

    def delitem(self, obj: Proxy, key: Any) -> None:
        """Called for ``del obj[key]``. Raises an `ItemAssignmentFailure` (a TypeError)."""
        self.fail(
            ItemAssignmentFailure, f"`{obj.node}` is a traced value: deletions of its items can't be recorded", obj
        )

    def refuse_argument(self, a: Any) -> Any:
        """Called for an argument of a type that a graph can't hold. Raises an `ArgumentFailure`."""
        return self.fail(ArgumentFailure, f"an argument of type {type(a)} can't be stored in a graph")

    def fail(self, failure: type[TraceFailure], message: str, value: Proxy | None = None) -> Any:
        """Raise ``failure``; every failure that fxcore itself detects is raised by this method.

        ``value`` is the traced value whose unknown property was needed, if that was the cause.
        """
        error = failure(message)
        error.node = None if value is None else value.node
        if isinstance(error, IterationFailure) and error.node is not None and _is_of_the_rest(error.node):
            error.passed_on = passed_on(sys._getframe(1))
        raise error

    def _record_stack_trace(self, node: Node) -> None:
        frames = traceback.extract_stack(sys._getframe(1))
        first = next((at for at, frame in enumerate(frames) if frame.name == "forward"), len(frames))
        user_frames = [frame for frame in frames[first:] if is_user_file(frame.filename)]
        if user_frames:
            node.stack_trace = "".join(traceback.StackSummary.from_list(user_frames).format()).strip()


def _is_of_the_rest(node: Node) -> bool:
    """Whether ``node`` stands for the program's ``*args``, its ``**kwargs``, or the keys of the latter."""
    is_keys = node.op == "call_method" and node.target == "keys"
    origin = node.all_input_nodes[0] if is_keys else node
    return origin.op == "placeholder" and str(origin.target).startswith("*")


class GraphAppendingTracer(TracerBase):
    """Records operations on proxies that were made by hand, ``Proxy(node)``, at the graph's insertion point."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}
