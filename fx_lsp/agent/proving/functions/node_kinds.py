"""Says which nodes of a graph surely yield one tensor each, by how they are made and by what is done with them."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import torch

from fxcore.node import Node

TENSOR = (torch.Tensor, "torch.Tensor", "Tensor")
"""The annotation of a tensor, which is text if the file imports ``annotations`` from ``__future__``."""

_SEVERAL = frozenset(
    {"split", "chunk", "unbind", "tensor_split", "hsplit", "vsplit", "dsplit", "split_with_sizes", "unsafe_chunk"}
    | {"unsafe_split", "topk", "sort", "max", "min", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin"}
    | {"aminmax", "svd", "qr", "slogdet", "lu", "geqrf", "frexp", "var_mean", "std_mean", "unique", "where", "nonzero"}
    | {"unique_consecutive", "histogram", "meshgrid", "broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d"}
    | {"lstm", "gru", "rnn_tanh", "rnn_relu", "histogramdd", "unravel_index", "lobpcg", "svd_lowrank", "pca_lowrank"}
    | {"multi_head_attention_forward", "triangular_solve", "unbind_copy", "split_copy", "split_with_sizes_copy"}
)
"""Functions that may return several tensors."""

_NO_TENSOR = frozenset(
    {"size", "dim", "numel", "nelement", "ndimension", "stride", "item", "tolist", "element_size", "data_ptr", "numpy"}
    | {"storage", "untyped_storage", "storage_offset", "get_device", "type", "equal", "allclose", "result_type"}
    | {"can_cast", "promote_types", "finfo", "iinfo", "broadcast_shapes", "get_default_dtype", "backward", "has_names"}
    | {"sym_int", "sym_float", "sym_max", "sym_min", "sym_not", "sym_ite", "sym_sqrt", "sym_sum", "is_tensor"}
    | {"register_hook", "retain_grad", "dense_dim", "sparse_dim", "q_scale", "q_zero_point", "qscheme", "_assert"}
)
"""Functions that return something else than a tensor, apart from those whose names begin with ``is_``."""

_OTHERS = (bytes, dict, float, int, list, set, str, tuple, torch.Size)
"""Types whose methods are no evidence that a value is a tensor."""

_ONLY_OF_TENSORS = frozenset(
    name
    for name in dir(torch.Tensor)
    if not name.startswith("_") and not any(hasattr(other, name) for other in _OTHERS)
)
"""The methods that only tensors have."""

_PARTS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
"""The attributes of a tensor that are tensors."""

_ARITHMETIC = frozenset(
    function
    for name, function in vars(operator).items()
    if not name.startswith("_") and name not in {"getitem", "is_", "is_not", "not_", "truth", "contains", "index"}
    if type(function) is type(operator.add)
)
"""Operators that yield a tensor if one of their operands is one."""

_NO_EVIDENCE = (torch.nn.Identity, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential, torch.nn.RNNBase)
"""Modules of torch that accept, and return, other things than one tensor."""


_NUMBERS = (bool, int, float)


class NodeKinds:
    """What is known about the nodes of one graph."""

    def __init__(self, root: torch.nn.Module) -> None:
        """``root``: the module that the graph refers to."""
        self._root = root
        self._known: dict[Node, bool] = {}

    def kind_of(self, node: Node) -> type | None:
        """The type of what ``node`` yields, if it is surely a tensor, or an input that its annotation or default shows.

        None if nothing is known about it.
        """
        if self.is_tensor(node):
            return torch.Tensor
        if node.op != "placeholder":
            return None
        default = type(node.args[0]) if node.args else None
        return next((kind for kind in _NUMBERS if node.type in (kind, kind.__name__) or default is kind), None)

    def is_tensor(self, node: Node) -> bool:
        """Whether ``node`` yields a tensor, whatever its program is called with; what has been said once stays so."""
        if node not in self._known:
            self._known[node] = any(self._takes_tensor(user, node) for user in node.users) or self._makes_tensor(node)
        return self._known[node]

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
                name = str(node.target)
                return name in _ONLY_OF_TENSORS and not _yields_other(name)
            case "call_function":
                return self._calls_for_tensor(node, node.target)
        return False

    def _calls_for_tensor(self, node: Node, function: Any) -> bool:
        first = node.args[0] if node.args else None
        if function is builtins.getattr:
            return node.args[1] in _PARTS and isinstance(first, Node) and self.is_tensor(first)
        if function is operator.getitem:
            return isinstance(first, Node) and self.is_tensor(first)
        if function in _ARITHMETIC:
            return any(isinstance(one, Node) and self.is_tensor(one) for one in node.args)
        name = getattr(function, "__name__", "")
        return _is_of_torch(function) and not _yields_other(name) and not node.kwargs.get("return_indices")

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
                name = getattr(user.target, "__name__", "")
                is_functional = getattr(torch.nn.functional, name, None) is user.target
                return is_functional or (_is_of_torch(user.target) and name in _ONLY_OF_TENSORS)
        return False

    def _module(self, node: Node) -> torch.nn.Module | None:
        """The module that ``node`` calls, if it is there."""
        found: Any = self._root
        for name in str(node.target).split("."):
            found = getattr(found, name, None)
        return found if isinstance(found, torch.nn.Module) else None


def _is_of_torch(function: Any) -> bool:
    name = getattr(function, "__name__", "")
    return any(getattr(module, name, None) is function for module in (torch, torch.nn.functional))


def _yields_other(name: str) -> bool:
    return name in _SEVERAL or name in _NO_TENSOR or name.startswith("is_")


def _is_plain(module: torch.nn.Module | None) -> bool:
    """Whether a module of torch takes a tensor first, and returns one."""
    is_of_torch = type(module).__module__.startswith("torch.nn.modules.")
    returns_more = isinstance(module, torch.nn.MultiheadAttention) or getattr(module, "return_indices", False)
    return is_of_torch and not isinstance(module, _NO_EVIDENCE) and not returns_more
