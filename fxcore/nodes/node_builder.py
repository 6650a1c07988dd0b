"""Adds nodes to a graph: `create_node`, and one method for each opcode."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from fxcore.node import Argument, Node, Target
from fxcore.nodes.namespace import _Namespace, _snake_case
from fxcore.nodes.node_list import NodeIndex

if TYPE_CHECKING:
    from fxcore.graph_module import GraphModule

Args: TypeAlias = tuple[Argument, ...] | None
Kwargs: TypeAlias = dict[str, Argument] | None


class NodeBuilder:
    """The methods of `fxcore.Graph` that add a node at the insertion point.

    In each of them, ``type_expr`` is the annotation of the node's value.
    """

    owning_module: GraphModule | None
    _graph_namespace: _Namespace
    _index: NodeIndex | None
    _insert: Callable[[Node], None]
    _len: int

    def create_node(
        self,
        op: str,
        target: Target,
        args: Args = None,
        kwargs: Kwargs = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a node at the insertion point.

        The node's name is ``name`` (by default, derived from ``target``) or, if that is taken, a similar name.
        ``type_expr`` is the annotation of its value. Raises ``AssertionError`` if ``args`` is not a tuple, ``kwargs``
        is not a dict or ``op`` is not an opcode; ``ValueError`` if ``target`` does not fit ``op``.
        """
        if args is None:
            args = ()
        elif args and not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, not {args!r}")
        if kwargs and not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, not {kwargs!r}")
        name = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        graph: Any = self
        node = Node(graph, name, op, target, args or (), kwargs or {}, type_expr)
        if self.owning_module is not None:
            for hook in getattr(self.owning_module, "_create_node_hooks", ()):
                hook(node)
        self._insert(node)
        if self._index is not None:
            self._index.add(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target | None) -> str:
        """Derive the default name of a node from its ``target``."""
        if callable(target):
            return _snake_case(target.__name__)
        if not isinstance(target, str):
            raise AssertionError(f"a target must be a function or a str, not {target!r}")
        is_magic = target.startswith("__") and target.endswith("__")
        return _snake_case(target[2:-2] if is_magic else target)

    def placeholder(
        self, name: str, type_expr: Any | None = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """Add an input called ``name`` (``*args`` and ``**kwargs`` with their stars).

        Without ``default_value``, the input is required; ``None`` is a default like any other.
        """
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Add a node that reads the attribute at the dotted path ``qualified_name`` of the owning module.

        Warns if there is an owning module, but it has no parameter, buffer or submodule at that path.
        """
        if self.owning_module is not None and not self._holds(self.owning_module, qualified_name):
            warnings.warn(
                f"the owning module has no parameter, buffer or submodule '{qualified_name}'; add one "
                "(add_submodule, register_parameter, register_buffer) before the graph runs",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    @staticmethod
    def _holds(module: torch.nn.Module, qualified_name: str) -> bool:
        path, _, name = qualified_name.rpartition(".")
        try:
            parent = module.get_submodule(path)
        except AttributeError:
            return False
        value = getattr(parent, name, None)
        return isinstance(value, torch.nn.Module | torch.nn.Parameter) or name in parent._buffers

    def call_module(
        self,
        module_name: str,
        args: Args = None,
        kwargs: Kwargs = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a call to the submodule at the dotted path ``module_name``; ``args`` don't include the module itself.

        Raises ``AttributeError`` if there is an owning module, but it has no such submodule.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: Args = None,
        kwargs: Kwargs = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a call to the method ``method_name`` of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Args = None,
        kwargs: Kwargs = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """Add a call to ``the_function``."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Add the output node, which makes the function return ``result``."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)
