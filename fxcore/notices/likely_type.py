"""The likely type of a traced value, inferred from how the value was made."""

from __future__ import annotations

import inspect
import math
import operator
import types
import typing
from typing import Any

import torch

from fxcore.node import Node
from fxcore.proxy import Attribute, Proxy

# The types of a tensor's attributes.
_ATTRIBUTES: dict[str, type] = {
    **dict.fromkeys(("T", "mT", "H", "mH", "data", "real", "imag"), torch.Tensor),
    **dict.fromkeys(("requires_grad", "is_cuda", "is_meta", "is_leaf", "is_sparse", "is_quantized"), bool),
    "device": torch.device,
    "dtype": torch.dtype,
    "ndim": int,
    "shape": torch.Size,
}

# The types of the results of a tensor's methods.
_METHODS: dict[str, type] = {
    **dict.fromkeys(("dim", "ndimension", "numel", "nelement", "element_size", "storage_offset", "get_device"), int),
    **dict.fromkeys(("is_contiguous", "is_floating_point", "is_complex"), bool),
    **dict.fromkeys(
        ("contiguous", "float", "half", "to", "view", "reshape", "permute", "clone", "detach"), torch.Tensor
    ),
}

_ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg, operator.abs)


# How many operations the inference follows back.
_DEEPEST = 6


def type_of_proxy(proxy: Proxy) -> type | None:
    """The likely type of the real value of ``proxy``; None if it isn't known. Records no node."""
    if isinstance(proxy, Attribute) and proxy._node is None:
        return _attribute(type_of_proxy(proxy.root), proxy.attr)
    return type_of_node(proxy.node)


def type_of_node(node: Node, depth: int = _DEEPEST) -> type | None:
    """The likely type of the value of ``node``; None if it can't be inferred within ``depth`` operations."""
    if node.op == "placeholder":
        return _declared(node)
    if node.op == "call_method":
        return _method(node)
    if node.op == "call_function":
        return _function(node, depth)
    return None


def _declared(node: Node) -> type | None:
    """An input's type, by its annotation or its default; a tensor if it has neither; None if it isn't known."""
    if node.type is not None:
        return _class_of(node.type)
    default = node.args[0] if node.args else inspect.Parameter.empty
    if default is inspect.Parameter.empty:
        return torch.Tensor
    return None if default is None else type(default)


def _class_of(annotation: Any) -> type | None:
    """The class of the values that ``annotation`` allows besides None; None if there isn't exactly one."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        classes = {_class_of(part) for part in typing.get_args(annotation) if part is not type(None)}
        return classes.pop() if len(classes) == 1 else None
    found = origin or annotation
    return found if isinstance(found, type) else None


def _attribute(owner: type | None, name: str) -> type | None:
    return _ATTRIBUTES.get(name) if owner in (torch.Tensor, None) else None


def _method(node: Node) -> type | None:
    if node.target == "size":
        return torch.Size if len(node.args) == 1 and not node.kwargs else int
    return _METHODS.get(str(node.target))


def _function(node: Node, depth: int) -> type | None:
    if not depth:
        return None
    if node.target is getattr:
        return _attribute(_of_argument(node.args[0], depth), str(node.args[1]))
    if node.target is operator.getitem:
        return _item(_of_argument(node.args[0], depth), node.args[1])
    if node.target in _ARITHMETIC:
        operands = {_of_argument(argument, depth) for argument in node.args}
        return next((found for found in (torch.Tensor, None, float, int) if found in operands), None)
    if getattr(node.target, "__module__", None) == math.__name__:
        return int if node.target in (math.ceil, math.floor) else float
    return None


def _item(owner: type | None, index: object) -> type | None:
    if owner is torch.Size:
        return torch.Size if isinstance(index, slice) else int
    return torch.Tensor if owner is torch.Tensor else None


def _of_argument(argument: object, depth: int) -> type | None:
    return type_of_node(argument, depth - 1) if isinstance(argument, Node) else type(argument)
