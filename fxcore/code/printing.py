"""Prints a graph for people to read: one line per node, a table, or the classes of its graph modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxcore.nodes.node_hooks import NodeHooks

if TYPE_CHECKING:
    from fxcore.graph import Graph
    from fxcore.graph_module import GraphModule


def format_graph(graph: Graph) -> str:
    """Return ``str(graph)``: a heading with the placeholders, then one line for each other node."""
    placeholder_names: list[str] = []
    lines = [node.format_node(placeholder_names) for node in graph.nodes]
    return "\n    ".join([f"graph({', '.join(placeholder_names)}):", *filter(None, lines)])


def format_table(graph: Graph) -> str:
    """Return the nodes in columns under headings, laid out as ``tabulate`` does."""
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
    """Return the code of ``module`` and of the graph modules among its children, as classes, with verbose comments.

    Also prints the code unless ``print_output`` is false. For the options, see `Graph.python_code`.
    """
    options = {"include_stride": include_stride, "include_device": include_device, "colored": colored}
    output = _classes(module, type(module).__name__, expanded_def, {**options, "additional_meta": additional_meta})
    if print_output:
        print(output)  # noqa: T201
    return output


def _classes(module: GraphModule, name: str, expanded_def: bool, options: dict[str, Any]) -> str:
    source = module.graph.python_code("self", verbose=True, expanded_def=expanded_def, **options).src.lstrip("\n")
    own = _indented(f"class {name}(torch.nn.Module):\n{source}")
    children: list[tuple[str, Any]] = [
        (name, child) for name, child in module.named_children() if isinstance(child, NodeHooks)
    ]
    return own + _indented("\n".join(["", *(_classes(child, name, False, options) for name, child in children)]))


def _indented(text: str) -> str:
    """The text with all lines except the first indented by four spaces; blank lines become empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in rest)])
