"""A node: one operation of a graph, with its arguments and the nodes that use its value."""

from __future__ import annotations

import copy
from collections.abc import Callable, MutableSequence
from operator import attrgetter
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

import torch

from fxcore.immutable_collections import immutable_dict, immutable_list
from fxcore.nodes.dead_code import _side_effectful_functions, has_side_effect, is_impure_function
from fxcore.nodes.linked_list import Linked, SortKey
from fxcore.nodes.node_text import _format_arg, format_node, pretty_target
from fxcore.nodes.qualified_name import _find_module_of_method, _get_qualified_name, _type_repr
from fxcore.operator_schemas import normalize_function, normalize_module
from fxcore.source import SourceSpan, span_at
from fxcore.torch_compat import OpOverload

if TYPE_CHECKING:
    from fxcore.graph import Graph

__all__ = [
    "Argument",
    "BaseArgumentTypes",
    "Node",
    "Target",
    "_find_module_of_method",
    "_format_arg",
    "_get_qualified_name",
    "_side_effectful_functions",
    "_type_repr",
    "base_types",
    "has_side_effect",
    "map_aggregate",
    "map_arg",
]

BaseArgumentTypes: TypeAlias = (
    (str | int | float | bool | complex | torch.Tensor)
    | (torch.dtype | torch.device | torch.layout | torch.memory_format)
    | (torch.SymInt | torch.SymFloat | torch.SymBool | OpOverload)
)
base_types: tuple[type, ...] = get_args(BaseArgumentTypes)
"""Types of arguments that a node holds unchanged."""

Argument: TypeAlias = Any
"""What can be an argument of a node: nodes and constants (numbers, strings, ``None``, dtypes, devices, …), in tuples,
lists, dicts and slices, nested to any depth."""

Target: TypeAlias = Callable[..., Any] | str
"""What a node does: a function for ``call_function``, a (dotted) name for every other opcode."""

_A = TypeVar("_A")

_legal_ops = dict.fromkeys(["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"])

# Types that neither are containers nor hold nodes: compared by exact type, so that the common case is fast.
_ATOMS = frozenset({str, int, float, bool, complex, type(None), torch.dtype, torch.device, torch.Tensor})

_NO_KWARGS: immutable_dict[str, Any] = immutable_dict()


class Node(Linked):
    """One operation in a `Graph`. What it does is given by ``op``, ``target``, ``args`` and ``kwargs``:

    - ``placeholder``: an input of the function, called ``target``; ``args`` holds its default value, if it has one.
    - ``get_attr``: the parameter, buffer or other attribute that is at ``target``, a dotted path from the root module.
    - ``call_function``: the function ``target`` applied to ``args`` and ``kwargs``.
    - ``call_module``: the submodule at the dotted path ``target``, called with ``args`` and ``kwargs``.
    - ``call_method``: the method named ``target`` of the value ``args[0]``, called with the rest.
    - ``output``: the function returns ``args[0]``.

    Nodes are made by the methods of `Graph`, which gives each a ``name`` that is unique in the graph. ``type`` is the
    annotation of the node's value, and ``users`` are the nodes that have this node among their arguments (a dict, which
    keeps their order); assigning ``args`` or ``kwargs`` updates the ``users`` of all nodes concerned. Passes may store
    anything in ``meta``, which copies of the node keep. ``where`` is the code object and the instruction in the user's
    program that the node comes from, if a tracer made it.

    Nodes compare by their position in the graph: ``a < b`` if ``a`` comes first.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_args",
        "_inputs",
        "_kwargs",
        "_op",
        "_repr_fn",
        "_target",
        "meta",
        "name",
        "type",
        "users",
        "where",
    )

    graph: Graph
    name: str
    type: Any
    users: dict[Node, None]
    meta: dict[str, Any]
    where: tuple[CodeType, int] | None

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"the node '{name}' calls a function, but its target {target!r} can't be called")
        elif op not in _legal_ops:
            raise AssertionError(f"'{op}' is not an opcode; use one of {', '.join(_legal_ops)}")
        elif not isinstance(target, str):
            raise ValueError(f"the target of the {op} node '{name}' must be a str, not {target!r}")
        self.graph = graph
        self.name = name
        self._op = op
        self._target: Any = target
        self.type = return_type
        self._inputs: tuple[Node, ...] = ()
        self.users = {}
        self.meta = {}
        self._prev = self._next = self
        self._erased = False
        self._sort_key = ()
        self._repr_fn: Callable[[Node], str] | None = None
        self.where = None
        self._update_args_kwargs(args, kwargs)

    # What the node does. `op` and `target` are properties, because changing them must update the graph's index; `args`
    # and `kwargs` are, because changing them must update the users of the nodes among them.

    def _set_op(self, op: str) -> None:
        with self.graph._reindexing(self):
            self._op = op

    def _set_target(self, target: Target) -> None:
        with self.graph._reindexing(self):
            self._target = target

    def _set_args(self, args: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(args, self._kwargs)

    def _set_kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, kwargs)

    op = property(attrgetter("_op"), _set_op)
    target = property(attrgetter("_target"), _set_target)
    args = property(attrgetter("_args"), _set_args)
    kwargs = property(attrgetter("_kwargs"), _set_kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in ``args`` and ``kwargs``, each once, in the order of their first use."""
        return list(self._inputs)

    @property
    def _input_nodes(self) -> dict[Node, None]:
        return dict.fromkeys(self._inputs)

    def _update_args_kwargs(self, args: Any, kwargs: Any) -> None:
        """Store the arguments in immutable containers, and make this node a user of the nodes among them."""
        for node in self._inputs:
            node.users.pop(self, None)
        if not kwargs and type(args) is tuple and _FLAT.issuperset(map(type, args)):  # most nodes: nothing to convert
            used = [arg for arg in args if type(arg) is Node]
            self._args: tuple[Argument, ...] = args
            self._kwargs: dict[str, Argument] = _NO_KWARGS
        else:
            used = []

            def use(node: Node) -> Node:
                used.append(node)
                return node

            self._args = _map_nodes(args, use)
            self._kwargs = _map_nodes(kwargs, use) if kwargs else _NO_KWARGS
        self._inputs = tuple(dict.fromkeys(used))
        for node in self._inputs:
            node.users[self] = None

    def _forget_inputs(self) -> None:
        """Replace every node among the arguments with ``None``."""
        for node in self._inputs:
            node.users.pop(self, None)
        self._inputs = ()
        self._args = map_arg(self._args, lambda node: None)
        self._kwargs = map_arg(self._kwargs, lambda node: None)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace the positional argument ``args[idx]`` with ``arg``. Raises ``IndexError`` if there is none."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put ``arg`` before ``args[idx]``. Raises ``AssertionError`` unless ``0 <= idx <= len(args)``."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(
                f"can't insert an argument of '{self.name}' at position {idx}: it must be from 0 to {len(self._args)}"
            )
        inputs = dict.fromkeys(self._inputs)

        def use(node: Node) -> Node:
            inputs[node] = None
            node.users.setdefault(self)
            return node

        self._args = (*self._args[:idx], _map_nodes(arg, use), *self._args[idx:])
        self._inputs = tuple(inputs)

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set the keyword argument ``key`` to ``arg``."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Argument) -> None:
        """Replace ``old_input`` with ``new_input``, a node or another value, wherever it is among the arguments."""
        self.graph._announce_replacement(old_input, getattr(new_input, "name", str(new_input)), self)
        self._replace_input_with(old_input, new_input)

    def _replace_input_with(self, old_input: Node, new_input: Argument) -> None:
        def exchange(node: Node) -> Argument:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self._args, exchange), map_arg(self._kwargs, exchange))

    def replace_all_uses_with(
        self,
        replace_with: Argument,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Have every user of this node use ``replace_with``, a node or another value, instead; return those users.

        ``delete_user_cb(user)`` may exempt a user by returning false. ``propagate_meta`` copies this node's ``meta`` to
        ``replace_with``, whose own ``meta`` must then be empty (otherwise ``AssertionError``).
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(f"can't propagate meta to '{replace_with.name}', whose meta is not empty")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # What is known of the node.

    @property
    def span(self) -> SourceSpan | None:
        """The range of the user's source that this node comes from; ``None`` if no tracer recorded it."""
        return None if self.where is None else span_at(*self.where)

    @property
    def stack_trace(self) -> str | None:
        """The user's stack when the node was made, innermost frame last, if the tracer recorded it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether running the node does more than compute its value, so that it must be kept even without users.

        Inputs and outputs are impure. A call to a function is impure if the function is an operator that writes to its
        arguments or draws random numbers (with ``impure_random=False``, drawing them is pure for some operators), or if
        it was registered with `has_side_effect`. A call to a module is impure if the module has a true attribute
        ``_is_impure``; for such a call, the graph must have an owning module (otherwise ``AssertionError``).
        """
        if self._op in ("placeholder", "output"):
            return True
        if self._op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError(
                    f"graph.owning_module is not set; it is needed to look up the module that "
                    f"'{self.name}' calls and check whether that call is pure"
                )
            return bool(getattr(self.graph.owning_module.get_submodule(self._target), "_is_impure", False))
        if self._op == "call_function":
            return is_impure_function(self._target, self._args, self._kwargs, impure_random)
        return False

    def normalized_arguments(
        self,
        root: torch.nn.Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """Return the arguments in the order of the called function's signature, defaults included.

        The result is an ``ArgsKwargsPair`` of `fxcore.operator_schemas`, or ``None`` if there is no usable signature.
        ``arg_types`` and ``kwarg_types`` choose among overloads. ``root`` is the module that holds the submodule of
        ``call_module``. With ``normalize_to_only_use_kwargs``, every argument is given by name.
        """
        if self._op == "call_function":
            return normalize_function(
                self._target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self._op == "call_module":
            return normalize_module(root, self._target, self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        # A node belongs to a graph, so the whole graph is copied: the node's copy is at the same position there.
        copy.deepcopy(self.graph, memo)
        copied: Node = memo.get(id(self), self)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _node_at, (self.graph, self._sort_key)

    # How the node is shown.

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def format_node(
        self,
        placeholder_names: MutableSequence[str] | None = None,
        maybe_return_typename: MutableSequence[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as a line of text: ``%relu : [num_users=1] = call_function[target=torch.relu](args = …``.

        ``placeholder_names`` and ``maybe_return_typename`` are lists to append to, for `Graph.__str__`.
        ``include_tensor_metadata`` adds the dtype, shape, stride and device of a tensor in ``meta["val"]``.
        """
        return format_node(self, placeholder_names, maybe_return_typename, include_tensor_metadata)

    @staticmethod
    def _pretty_print_target(target: object) -> str:
        return pretty_target(target)

    def _rename(self, candidate: str) -> None:
        """Rename the node to ``candidate``, or to a similar name if that is taken."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)


_FLAT = _ATOMS | {Node}


def _node_at(graph: Graph, key: SortKey) -> Node:
    """Return the node with this sort key; while the graph is being unpickled, one that will be filled in later."""
    if graph._unfilled is None:
        return next(node for node in graph.nodes if node._sort_key == key)
    return graph._unfilled.setdefault(key, Node.__new__(Node))


def map_aggregate(a: _A, fn: Callable[[Argument], Argument]) -> _A:
    """``a`` with ``fn`` applied to everything in it that isn't a container, in containers of the same kinds.

    Containers are tuples, named tuples, lists, dicts and slices; lists and dicts are returned as immutable ones.
    """
    return _map(a, fn)  # type: ignore[no-any-return]


def map_arg(a: _A, fn: Callable[[Node], Argument]) -> _A:
    """``a`` with ``fn`` applied to every `Node` in it, at any depth; otherwise like `map_aggregate`."""
    if not callable(fn):
        raise AssertionError("map_arg(a, fn): fn must be callable")
    return _map_nodes(a, fn)  # type: ignore[no-any-return]


def _map_nodes(a: Any, fn: Callable[[Node], Any]) -> Any:
    kind = type(a)
    if kind is Node:
        return fn(a)
    if kind in _ATOMS:
        return a
    if kind is tuple:
        return tuple([_map_nodes(item, fn) for item in a])
    if kind is immutable_list or kind is list:
        return immutable_list([_map_nodes(item, fn) for item in a])
    return _map(a, lambda item: fn(item) if isinstance(item, Node) else item)


def _map(a: Any, fn: Callable[[Any], Any]) -> Any:
    if isinstance(a, tuple):
        items = [_map(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([_map(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict([(key, _map(value, fn)) for key, value in a.items()])
    if isinstance(a, slice):
        return slice(_map(a.start, fn), _map(a.stop, fn), _map(a.step, fn))
    return fn(a)
