"""A graph as text for people: one line per node, or a table."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch

from fxcore.argument_text import _format_arg
from fxcore.node import Node
from fxcore.qualified_name import _get_qualified_name, _type_repr
from fxcore.torch_compat import dtype_abbrs

if TYPE_CHECKING:
    from fxcore.graph import Graph
    from fxcore.graph_module import GraphModule


def stringify_shape(shape: Iterable[object]) -> str:
    """Sizes or strides as ``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


def pretty_target(target: object) -> str:
    """What a node calls, as one would write it: a builtin or operator with its module."""
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None)
    module = getattr(target, "__module__", None)
    if name is not None and module in ("builtins", "_operator"):
        return f"{module.lstrip('_')}.{name}"
    return _get_qualified_name(target)  # type: ignore[arg-type]


def tensor_value(node: Node) -> Any:
    """What passes have noted of the node's value: a (fake) tensor, its metadata, or ``None``."""
    for key in ("val", "tensor_meta", "example_value"):
        if key in node.meta:
            return node.meta[key]
    return None


def is_strided_tensor(value: object) -> TypeGuard[torch.Tensor]:
    """Whether ``value`` is a tensor that can be asked for its strides."""
    return isinstance(value, torch.Tensor) and value.layout not in (torch.sparse_csc, torch.sparse_csr)


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
    """The text of `Node.format_node`."""
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


def format_graph(graph: Graph) -> str:
    """The text of ``str(graph)``."""
    placeholder_names: list[str] = []
    lines = [node.format_node(placeholder_names) for node in graph.nodes]
    return "\n    ".join([f"graph({', '.join(placeholder_names)}):", *filter(None, lines)])


def format_table(graph: Graph) -> str:
    """The nodes in columns under headings, as ``tabulate`` sets them."""
    headings = ["opcode", "name", "target", "args", "kwargs"]
    rows = [[str(cell) for cell in (n.op, n.name, n.target, n.args, n.kwargs)] for n in graph.nodes]
    widths = [max(len(heading) + 2, *map(len, column)) for heading, *column in zip(headings, *rows, strict=True)]
    lines = [headings, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def print_readable(
    module: GraphModule,
    print_output: bool = True,
    include_stride: bool = False,
    include_device: bool = False,
    colored: bool = False,
    *,
    additional_meta: list[str] | None = None,
    expanded_def: bool = False,
) -> str:
    """The code of this module and of the graph modules among its children, as classes, with verbose comments.

    Prints it unless told not to, and returns it. For the options see `Graph.python_code`.
    """
    options = {"include_stride": include_stride, "include_device": include_device, "colored": colored}
    output = _classes(module, type(module).__name__, expanded_def, {**options, "additional_meta": additional_meta})
    if print_output:
        print(output)  # noqa: T201
    return output


def _classes(module: GraphModule, name: str, expanded_def: bool, options: dict[str, Any]) -> str:
    from fxcore.graph_module import GraphModule

    source = module.graph.python_code("self", verbose=True, expanded_def=expanded_def, **options).src.lstrip("\n")
    own = _indented(f"class {name}(torch.nn.Module):\n{source}")
    children = [(name, child) for name, child in module.named_children() if isinstance(child, GraphModule)]
    return own + _indented("\n".join(["", *(_classes(child, name, False, options) for name, child in children)]))


def _indented(text: str) -> str:
    """All lines but the first, four spaces further in; blank ones empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in rest)])
