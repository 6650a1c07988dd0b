"""Draw graphs with Graphviz.

This module requires the package pydot, which is imported when a graph is drawn, and Graphviz itself to write pictures.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fxcore.code.verbose import _parse_stack_trace
from fxcore.graph_module import GraphModule
from fxcore.node import Node, Target
from fxcore.nodes.attribute_paths import _get_attr
from fxcore.nodes.node_text import _format_arg, pretty_target
from fxcore.nodes.qualified_name import _get_qualified_name
from fxcore.operator_schemas import normalize_function
from fxcore.passes.shape_prop import TensorMetadata

__all__ = ["FxGraphDrawer"]

_COLOR_OF_OP = {
    "placeholder": '"AliceBlue"',
    "call_module": "LemonChiffon1",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
}

# The colors of functions and methods, chosen by a hash of their names.
_COLORS = (
    *("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1", "LavenderBlush1"),
    *("LightSkyBlue", "MistyRose1", "MistyRose2", "PaleTurquoise2", "PeachPuff1", "Salmon"),
    *("Thistle1", "Thistle3", "Wheat1"),
)

_PER_TENSOR = (torch.per_tensor_affine, torch.per_tensor_symmetric)

_STYLE = {"style": '"filled,rounded"', "fontcolor": "#000000"}

# A line break in a label, as Graphviz reads it; \l also aligns the line to the left.
_BREAK = r"\n"


@dataclass(eq=False)
class FxGraphDrawer:
    """Draws the graph of a module, and the graphs of the graph modules that it calls::

        FxGraphDrawer(graph_module, "resnet18").get_dot_graph().write_svg("resnet18.svg")

    A box shows a node's name, what it calls, its arguments, and, if shapes were propagated, the tensor that it returns.
    The constructor raises ``RuntimeError`` if pydot is not installed.

    Attributes:
        graph_module: The module.
        name: The name of the drawing.
        ignore_getattr: Whether to omit reads of attributes.
        ignore_parameters_and_buffers: Whether to omit the tensors of leaf modules.
        skip_node_names_in_args: Whether to omit arguments that contain nodes, which are shown as arrows anyway.
        parse_stack_trace: Whether to show the line of source, if it was recorded.
        dot_graph_shape: Graphviz's name for the shape of the boxes; by default "record".
        normalize_args: Whether to show arguments by their names in the called function's signature.
    """

    graph_module: GraphModule
    name: str
    ignore_getattr: bool = False
    ignore_parameters_and_buffers: bool = False
    skip_node_names_in_args: bool = True
    parse_stack_trace: bool = False
    dot_graph_shape: str | None = None
    normalize_args: bool = False

    def __post_init__(self) -> None:
        self.dot_graph_shape = self.dot_graph_shape or "record"
        self._pydot = _import_pydot()
        self._dot_graphs = {self.name: self._draw(self.graph_module, self.name)}
        for node in self.graph_module.graph.nodes:
            if node.op == "call_module" and isinstance(leaf := _get_attr(self.graph_module, node.target), GraphModule):
                name = f"{self.name}_{node.target}"
                self._dot_graphs[name] = self._draw(leaf, name)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The drawing (a ``pydot.Dot``) of the module, or of the submodule with this qualified name."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        """The drawing of the module."""
        return self._dot_graphs[self.name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The drawing of a graph module that the graph calls. Raises ``KeyError`` if it calls none with this name."""
        return self._dot_graphs[f"{self.name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All drawings by name: the module's is ``name``, a submodule's is ``name``, ``_`` and its qualified name."""
        return self._dot_graphs

    def _draw(self, module: GraphModule, name: str) -> Any:
        """Draw the graph of one module."""
        drawing = self._pydot.Dot(name, rankdir="TB")
        nodes = [node for node in module.graph.nodes if not (self.ignore_getattr and node.op == "get_attr")]
        for node in nodes:
            drawing.add_node(self._pydot.Node(node.name, label=self._label(module, node), **self._style(node)))
            if node.op == "call_module" and not self.ignore_parameters_and_buffers:
                self._draw_tensors(drawing, node, _get_attr(module, node.target))
        for node in nodes:
            for user in node.users:
                drawing.add_edge(self._pydot.Edge(node.name, user.name))
        return drawing

    def _draw_tensors(self, drawing: Any, node: Node, leaf: torch.nn.Module) -> None:
        """Draw the parameters and buffers of a called module, each with an arrow to the call."""
        if isinstance(leaf, GraphModule):
            return
        for name, tensor in itertools.chain(leaf.named_parameters(), leaf.named_buffers()):
            kind = "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
            full_name = f"{node.name}.{name}"
            label = rf"{{{full_name}|op_code=get_{kind}\l{tensor.dtype}{list(tensor.shape)}\n}}"
            style = {**_STYLE, "fillcolor": "Salmon", "shape": self.dot_graph_shape}
            drawing.add_node(self._pydot.Node(full_name, label=label, **style))
            drawing.add_edge(self._pydot.Edge(full_name, node.name))

    def _style(self, node: Node) -> dict[str, Any]:
        """Return the Graphviz attributes of a node's box."""
        color = _COLOR_OF_OP.get(node.op) or _color_of_name(pretty_target(node.target))
        return {"shape": self.dot_graph_shape, "fillcolor": color, **_STYLE}

    def _label(self, module: GraphModule, node: Node) -> str:
        """The text in a node's box."""
        parts = [
            f"name=%{node.name}|op_code={node.op}\n",
            _module_label(_get_attr(module, node.target)) if node.op == "call_module" else self._call_label(node),
            _tensor_label(node.meta.get("tensor_meta")),
            _source_label(node) if self.parse_stack_trace else "",
        ]
        return "{" + "".join(parts) + "}"

    def _call_label(self, node: Node) -> str:
        """What a node calls, its arguments, and the number of its users."""
        args, kwargs = self._arguments(node)
        by_name = [f"{name}: {_format_arg(value, max_list_len=8)}" for name, value in kwargs.items()]
        positional = [_format_arg(value, max_list_len=8) for value in args]
        return (
            f"|target={_typename(node.target)}{_BREAK}"
            f"{self._list_label('args=(', positional, ')')}{self._list_label('kwargs={', by_name, '}')}"
            f"|num_users={len(node.users)}{_BREAK}"
        )

    def _arguments(self, node: Node) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments to show: by name if ``normalize_args`` is set and the signature is known."""
        if self.normalize_args and node.op == "call_function":
            # If the types of arguments are needed to choose an overload, the arguments are shown unchanged.
            with contextlib.suppress(RuntimeError):
                normalized = normalize_function(
                    node.target, node.args, dict(node.kwargs), normalize_to_only_use_kwargs=True
                )
                if normalized is not None:
                    return normalized
        return node.args, node.kwargs

    def _list_label(self, start: str, items: list[str], end: str) -> str:
        """The text for a list of arguments, each on a separate line if there are several."""
        shown = [item for item in items if not (self.skip_node_names_in_args and "%" in item)]
        if not shown:
            return ""
        if len(shown) == 1:
            return _escaped(f"|{start}{shown[0]},{end}")
        return _escaped(rf"|{start}\l" + r",\n".join(shown) + rf",\n{end}\l")


def _import_pydot() -> Any:
    try:
        return importlib.import_module("pydot")
    except ModuleNotFoundError as error:
        raise RuntimeError("Drawing graphs requires the pydot package: pip install pydot") from error


def _escaped(label: str) -> str:
    """Escape the characters that structure a label."""
    return label.replace("{", r"\{").replace("}", r"\}")


def _color_of_name(name: str) -> str:
    digest = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
    return _COLORS[int(digest[:8], 16) % len(_COLORS)]


def _typename(target: Target | torch.nn.Module) -> str:
    """The name of a function, method or module's class."""
    if isinstance(target, torch.nn.Module):
        return _escaped(torch.typename(target))
    return _escaped(target if isinstance(target, str) else _get_qualified_name(target))


def _module_label(module: torch.nn.Module) -> str:
    """A module's class and its constants."""
    constants = _BREAK.join(f"{name}: {getattr(module, name)}" for name in getattr(module, "__constants__", ()))
    return f"{_BREAK}{_typename(module)}{_BREAK}|{constants}{_BREAK}"


def _tensor_label(metadata: object) -> str:
    """What is known about a tensor, or about all tensors in a structure; empty for other values."""
    if isinstance(metadata, TensorMetadata):
        return "".join(f"|{name}={value}{_BREAK}" for name, value in _facts(metadata).items())
    if isinstance(metadata, dict):
        return "".join(map(_tensor_label, metadata.values()))
    if isinstance(metadata, list | tuple):
        return "".join(map(_tensor_label, metadata))
    return ""


def _facts(metadata: TensorMetadata) -> dict[str, object]:
    """Return the properties of a tensor to show in a node's box, by name."""
    facts: dict[str, object] = {
        "dtype": metadata.dtype,
        "shape": tuple(metadata.shape),
        "requires_grad": metadata.requires_grad,
        "stride": metadata.stride,
    }
    if metadata.is_quantized:
        scheme = metadata.qparams["qscheme"]
        prefix = "q_" if scheme in _PER_TENSOR else "q_per_channel_"
        facts |= {prefix + name: value for name, value in metadata.qparams.items() if name != "qscheme"}
        facts["qscheme"] = scheme
    return facts


def _source_label(node: Node) -> str:
    """The line of source that a node comes from, if it was recorded."""
    frame = _parse_stack_trace(node.stack_trace) if node.stack_trace else None
    if frame is None:
        return ""
    file = "/".join(frame.file.split("/")[-2:])
    return f"|file={file}:{frame.lineno} {frame.code}{_BREAK}"
