"""Formats a node and its arguments as one line of text. This module can't import `fxcore.node`, which imports it."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch

from fxcore.nodes.linked_list import Linked
from fxcore.nodes.qualified_name import _get_qualified_name, _type_repr
from fxcore.torch_compat import dtype_abbrs

if TYPE_CHECKING:
    from fxcore.node import Node


def stringify_shape(shape: Iterable[object]) -> str:
    """Return sizes or strides as text: ``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


def pretty_target(target: object) -> str:
    """Return a node's target as it is written in code; builtins and operators include their module."""
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None)
    module = getattr(target, "__module__", None)
    if name is not None and module in ("builtins", "_operator"):
        return f"{module.lstrip('_')}.{name}"
    return _get_qualified_name(target)  # type: ignore[arg-type]


def tensor_value(node: Node) -> Any:
    """Return what passes have recorded about the node's value: a (fake) tensor, its metadata, or ``None``."""
    for key in ("val", "tensor_meta", "example_value"):
        if key in node.meta:
            return node.meta[key]
    return None


def is_strided_tensor(value: object) -> TypeGuard[torch.Tensor]:
    """Whether ``value`` is a tensor that has strides."""
    return isinstance(value, torch.Tensor) and value.layout not in (torch.sparse_csc, torch.sparse_csr)


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    """Format an argument, with ``%`` before each node; cut lists and tuples off after ``max_list_len`` items."""
    if isinstance(arg, Linked):
        return f"%{arg}"
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        items = ", ".join(_format_arg(item) for index, item in enumerate(arg) if index < max_list_len)
        rest = f", ...[total_len={len(arg)}]" if len(arg) > max_list_len else ""
        if isinstance(arg, list):
            return f"[{items}{rest}]"
        return f"({items}{',' if len(arg) == 1 else ''}{rest})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return str(arg)


def _type_column(node: Node, include_tensor_metadata: bool) -> str:
    value = tensor_value(node) if include_tensor_metadata else None
    if is_strided_tensor(value):
        dtype, shape, stride = dtype_abbrs[value.dtype], value.shape, value.stride()
        return f'Tensor "{dtype}{stringify_shape(shape)}{stringify_shape(stride)}{value.device}"'
    return "" if node.type is None else f"{_type_repr(node.type)} "


def _format_placeholder(node: Node, placeholder_names: MutableSequence[str] | None) -> str | None:
    if placeholder_names:
        shown = f"{node.target}: {_type_repr(node.type)}" if node.type else ""
        placeholder_names.append(f"{node.target}{shown}")
        return None
    typename = f"{_type_repr(node.type)} " if node.type else ""
    default = f"(default={node.args[0]})" if node.args else ""
    return f"%{node.name} : {typename}[num_users={len(node.users)}] = placeholder[target={node.target}]{default}"


def format_node(
    node: Node,
    placeholder_names: MutableSequence[str] | None,
    maybe_return_typename: MutableSequence[str] | None,
    include_tensor_metadata: bool,
) -> str | None:
    """Format a node; see `Node.format_node`."""
    if node.op == "placeholder":
        return _format_placeholder(node, placeholder_names)
    if node.op == "output":
        if node.type and maybe_return_typename:
            maybe_return_typename[0] = f" -> {_type_repr(node.type)}"
        return f"return {node.args[0]}"
    is_read = node.op == "get_attr"
    typename = _type_column(node, include_tensor_metadata and not is_read)
    start = f"%{node.name} : {typename}[num_users={len(node.users)}] = {node.op}[target={pretty_target(node.target)}]"
    return start if is_read else f"{start}(args = {_format_arg(node.args)}, kwargs = {_format_arg(node.kwargs)})"
