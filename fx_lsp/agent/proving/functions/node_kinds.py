"""Says which nodes of a graph surely yield one tensor each, by how they are made and by what is done with them."""

from __future__ import annotations

import builtins
import functools
import operator
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from fxcore.node import Node

TENSOR = (torch.Tensor, "torch.Tensor", "Tensor")
"""The annotation of a tensor, which is text if the file imports ``annotations`` from ``__future__``."""

_OTHERS = (bytes, dict, float, int, list, set, str, tuple, torch.Size, PackedSequence)
"""Types whose methods are no evidence that a value is a tensor."""

_ONLY_OF_TENSORS = frozenset(
    name
    for name in dir(torch.Tensor)
    if not name.startswith("_") and not any(hasattr(other, name) for other in _OTHERS)
)
"""The methods that only tensors have."""

_PARTS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
"""The attributes of a tensor that are tensors, and that other values hardly have."""

_NEW = frozenset(
    getattr(operator, name) for name in ("matmul", "neg", "invert", "abs", "eq", "ne", "lt", "le", "gt", "ge")
)
"""Operators whose result surely is new. Of the others, a trace doesn't show whether they write in place: ``x += 1``."""

_SHARE_UNSAID = frozenset(
    {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "type_as", "einsum", "pad", "tensor"}
)
"""Operators that may return an argument, or a view of it, though their schemas don't say so."""

_CASTS = frozenset(
    {
        "to",
        "cpu",
        "cuda",
        "float",
        "double",
        "half",
        "bfloat16",
        "long",
        "int",
        "short",
        "byte",
        "char",
        "bool",
        "type_as",
    }
)
"""Methods of a tensor that yield one, and are no operators of torch."""

_ARITHMETIC = frozenset(
    getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"),
        *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor"),
        *("neg", "pos", "invert", "abs", "eq", "ne", "lt", "le", "gt", "ge"),
    )
)
"""Operators that yield a tensor if one of their operands is one."""

_OTHER_MODULES = (
    *(torch.nn.Identity, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential, torch.nn.RNNBase),
    *(torch.nn.LSTMCell, torch.nn.MultiheadAttention, torch.nn.AdaptiveLogSoftmaxWithLoss),
)
"""Modules of torch that accept, or return, other things than one tensor."""

_MAY_SHARE = (
    *(torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout),
    *(torch.nn.Flatten, torch.nn.Unflatten, torch.nn.FeatureAlphaDropout),
)
"""Modules of torch whose output may share memory with the input, apart from those that have ``inplace``."""


class NodeKinds:
    """What is known about the nodes of one graph."""

    def __init__(self, root: torch.nn.Module) -> None:
        """``root``: the module that the graph refers to."""
        self.root = root
        self._known: dict[Node, bool] = {}

    def is_tensor(self, node: Node) -> bool:
        """Whether ``node`` surely yields a tensor, as far as the graph shows; what has been said once stays so."""
        if node not in self._known:
            # An input with a default may be something else where it has that.
            uses = () if node.op == "placeholder" and node.args else node.users
            self._known[node] = any(self._takes_tensor(user, node) for user in uses) or self._makes_tensor(node)
        return self._known[node]

    def memory_of(self, node: Node) -> Node:
        """The node in whose memory the output of ``node`` may be; ``node`` itself if it surely has its own."""
        while node.args and isinstance(first := node.args[0], Node) and not self._makes_new(node):
            node = first
        return node

    def _makes_new(self, node: Node) -> bool:
        """Whether what ``node`` yields is surely new, and no view of what it is made of."""
        if node.op == "call_module":
            module = self._module(node)
            return _is_plain(module) and not isinstance(module, _MAY_SHARE) and not getattr(module, "inplace", False)
        if node.target is operator.getitem:  # with a tensor as the index, this copies
            return any(isinstance(one, Node) and self.is_tensor(one) for one in _items(node.args[1]))
        if node.op == "call_method":
            return self.is_tensor(node) and _copies(str(node.target))
        return node.target in _NEW or (_is_of(torch, node.target) and _copies(getattr(node.target, "__name__", "")))

    def _makes_tensor(self, node: Node) -> bool:
        """Whether what ``node`` does yields a tensor."""
        match node.op:
            case "placeholder":
                return node.type in TENSOR
            case "get_attr":
                return True
            case "call_module":
                return _is_plain(self._module(node))
            case "call_method":
                name, base = str(node.target), node.args[0]
                is_method = name in _ONLY_OF_TENSORS or (isinstance(base, Node) and self.is_tensor(base))
                return is_method and (name in _CASTS or _yields_tensor(name))
            case "call_function":
                return self._calls_for_tensor(node, node.target)
        return False

    def _calls_for_tensor(self, node: Node, function: Any) -> bool:
        first = node.args[0] if node.args else None
        if function is builtins.getattr:
            return node.args[1] in _PARTS and isinstance(first, Node) and self.is_tensor(first)
        if function is operator.getitem:
            is_item = isinstance(node.args[1], str | int) and isinstance(first, Node) and _holds_tensors(first.type)
            return is_item or (isinstance(first, Node) and self.is_tensor(first))
        if function in _ARITHMETIC:
            return any(isinstance(one, Node) and self.is_tensor(one) for one in node.args)
        is_class = isinstance(function, type(torch.FloatTensor)) or function is torch.Tensor
        return is_class or (_is_of(torch, function) and _yields_tensor(function.__name__))

    def _takes_tensor(self, user: Node, node: Node) -> bool:
        """Whether what ``user`` does with ``node`` can be done with nothing but a tensor."""
        if not user.args or user.args[0] is not node:
            return False
        match user.op:
            case "call_module":
                return _is_plain(self._module(user))
            case "call_method":
                return str(user.target) in _ONLY_OF_TENSORS
            case "call_function":
                is_method = _is_of(torch, user.target) and user.target.__name__ in _ONLY_OF_TENSORS
                return is_method or _is_of(torch.nn.functional, user.target)
        return False

    def _module(self, node: Node) -> torch.nn.Module | None:
        """The module that ``node`` calls, if it is there."""
        found: Any = self.root
        for name in str(node.target).split("."):
            found = getattr(found, name, None)
        return found if isinstance(found, torch.nn.Module) else None


@functools.cache
def _yields_tensor(name: str) -> bool:
    """Whether each operator of torch with this name yields one tensor."""
    schemas = _schemas(name)
    return bool(schemas) and all([str(value.type) for value in schema.returns] == ["Tensor"] for schema in schemas)


@functools.cache
def _copies(name: str) -> bool:
    """Whether each operator of torch with this name yields one tensor, which is no view of an argument."""
    shares = any(value.alias_info is not None for schema in _schemas(name) for value in schema.returns)
    return _yields_tensor(name) and not shares and name not in _SHARE_UNSAID


def _schemas(name: str) -> list[Any]:
    """The schemas of the operators of torch with this name, but for those that write to an argument ``out``."""
    operators: Any = getattr(torch.ops.aten, name, None)
    schemas = [getattr(operators, overload)._schema for overload in operators.overloads()] if operators else []
    return [schema for schema in schemas if not any(argument.is_out for argument in schema.arguments)]


def _holds_tensors(annotation: Any) -> bool:
    """Whether an annotation, which may be text, is that of a sequence or a mapping of tensors or None."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, {**vars(typing), "torch": torch, "Tensor": torch.Tensor})
        except Exception:  # it needs other names
            return False
    kind, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if kind in (typing.Union, types.UnionType):
        others = [one for one in arguments if one is not types.NoneType]
        return len(others) == 1 and _holds_tensors(others[0])
    if not isinstance(kind, type) or not issubclass(kind, Mapping | Sequence):
        return False
    held = arguments[1:] if issubclass(kind, Mapping) else [one for one in arguments if one is not ...]
    return bool(held) and all(one is torch.Tensor for one in held)


def _items(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _is_of(namespace: object, function: Any) -> bool:
    return getattr(namespace, getattr(function, "__name__", ""), None) is function


def _is_plain(module: torch.nn.Module | None) -> bool:
    """Whether a module of torch takes a tensor first, and returns one."""
    is_of_torch = type(module).__module__.startswith("torch.nn.modules.")
    return is_of_torch and not isinstance(module, _OTHER_MODULES) and not getattr(module, "return_indices", False)
