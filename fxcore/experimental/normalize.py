"""Normalizes a graph's calls: passes all arguments by name, and uses a single name for each operator.

Source: the interface and results are those of ``torch.fx.experimental.normalize``.
"""

import operator
from collections.abc import Callable
from typing import Any

import torch

from fxcore.experimental.schema_type_annotation import AnnotateTypesWithSchema
from fxcore.graph_module import GraphModule
from fxcore.interpreter import Transformer
from fxcore.node import Argument, Node, Target, map_aggregate
from fxcore.operator_schemas import create_type_hint, normalize_function, normalize_module
from fxcore.proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Copies a graph module so that each call passes all arguments, including defaults, in the signature's order.

    ``NormalizeArgs(traced).transform()`` passes them by name; with ``normalize_to_only_use_kwargs=False``, arguments
    that were positional remain positional. Calls without a usable signature remain unchanged. If several overloads of
    an operator fit a call, ``meta["type"]``, which shape propagation records, decides.
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """Copy one node, with its meta and type."""
        if n.op == "output":
            return super().run_node(n)
        if n.op == "call_function":
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            arg_types = tuple(create_type_hint(found) for found in map_aggregate(n.args, _type_in(n)))
            out = self.call_function(n.target, args, kwargs, arg_types, {k: type(v) for k, v in kwargs.items()})
        else:
            out = super().run_node(n)
        out.node.meta, out.node.type = n.meta, n.type
        self.node_map[out] = n
        return out

    def call_function(
        self,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
    ) -> Any:
        """Copy a call with its arguments normalized.

        Raises RuntimeError if several overloads fit and no types are given.
        """
        assert callable(target)
        only_kwargs = self.normalize_to_only_use_kwargs
        normal = normalize_function(target, args, kwargs, arg_types, kwarg_types, only_kwargs)
        if normal is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, normal.args, normal.kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Copy a call to a submodule, with normalized arguments if its class is from ``torch.nn``."""
        normal = normalize_module(self.module, str(target), args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(normal or (args, kwargs)))


def _type_in(node: Node) -> Callable[[Any], Any]:
    """A function that returns the type of an argument of ``node``.

    For any argument that is a node, it returns the type of ``node`` itself, as torch.fx does.
    """
    return lambda value: node.meta.get("type") if isinstance(value, Node) else type(value)


class NormalizeOperators(AnnotateTypesWithSchema):
    """Copies a graph module with calls such as ``torch.add(x, y)`` replaced by Python's operators.

    Calls with more arguments than the two operands, for instance ``torch.add(x, y, alpha=2)``, remain unchanged.
    """

    binary_magic_method_remap: dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
        torch.add: operator.add,
        torch.div: operator.truediv,
        torch.eq: operator.eq,
        torch.floor_divide: operator.floordiv,
        torch.ge: operator.ge,
        torch.gt: operator.gt,
        torch.le: operator.le,
        torch.lt: operator.lt,
        torch.mul: operator.mul,
        torch.ne: operator.ne,
        torch.remainder: operator.mod,
        torch.sub: operator.sub,
    }

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Copy a call; a function in ``binary_magic_method_remap`` is replaced by Python's operator."""
        if len(args) == 2 and not kwargs and callable(target):
            target = self.binary_magic_method_remap.get(target, target)
        return super().call_function(target, args, kwargs)
