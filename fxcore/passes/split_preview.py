"""Previews what a splitter would do: which operations are supported, the resulting parts, and what limits speed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes.graph_drawer import FxGraphDrawer
from fxcore.passes.graph_manipulation import get_size_of_node
from fxcore.passes.shape_prop import ShapeProp
from fxcore.passes.tools_common import CALLABLE_NODE_OPS, NodeSet, get_node_target, is_node_output_tensor

if TYPE_CHECKING:
    from fxcore.passes.splitter_base import Subgraph, _SplitterBase


_DtypesOfArguments = tuple[tuple[torch.dtype | None, ...], tuple[tuple[str, torch.dtype | None], ...]]


def preview_support(splitter: _SplitterBase, dump_graph: bool) -> str:
    """Print and return a list of supported and unsupported operations, with the dtypes of their arguments."""
    submodules = dict(splitter.module.named_modules())
    supported: NodeSet = set()
    kinds: dict[bool, dict[str, dict[_DtypesOfArguments, None]]] = {True: defaultdict(dict), False: defaultdict(dict)}
    for node in splitter.module.graph.nodes:
        if node.op in CALLABLE_NODE_OPS:
            is_supported = splitter.operator_support.is_node_supported(submodules, node)
            kinds[is_supported][get_node_target(submodules, node)][_dtypes(node)] = None
            if is_supported:
                supported.add(node)
    if dump_graph:
        drawing = _SupportDrawer(splitter.module, supported).get_main_dot_graph()
        Path("node_support.dot").write_text(drawing.to_string())
    report = ""
    for is_supported, title in ((True, "Supported"), (False, "Unsupported")):
        report += f"\n{title} node types in the model:\n"
        for target, variants in kinds[is_supported].items():
            for args, kwargs in variants:
                report += f"{target}: ({args}, {dict(kwargs)})\n"
    print(report)  # noqa: T201 - printing is its purpose
    return report


def _dtypes(node: Node) -> _DtypesOfArguments:
    """The dtypes of the node's arguments: None for arguments that aren't tensors. Trailing Nones are left out."""

    def dtype(argument: Any) -> torch.dtype | None:
        return getattr(argument.meta.get("tensor_meta"), "dtype", None) if isinstance(argument, Node) else None

    args = [dtype(argument) for argument in node.args]
    while args and args[-1] is None:
        args.pop()
    by_name = ((name, dtype(value)) for name, value in node.kwargs.items() if isinstance(value, Node))
    return tuple(args), tuple(by_name)


class _SupportDrawer(FxGraphDrawer):
    """Draws a graph with supported nodes green and the others red."""

    def __init__(self, module: GraphModule, supported: NodeSet) -> None:
        self.supported = supported
        super().__init__(module, "node_support", ignore_getattr=True)

    def _style(self, node: Node) -> dict[str, Any]:
        color = "chartreuse1" if node in self.supported else "crimson"
        return {**super()._style(node), "fillcolor": color if node.op in CALLABLE_NODE_OPS else "AliceBlue"}


def preview_split(splitter: _SplitterBase, dump_graph: bool) -> str:
    """Print and return a report on the parts of the split.

    For accelerator parts, it gives the sizes of inputs and outputs, and the maximum number of calls per second for
    which PCIe can transfer them.
    """
    subgraphs = splitter.put_nodes_into_subgraphs()
    lines = [f"Before removing small acc subgraphs: {_count(subgraphs)}"]
    subgraphs = splitter.remove_small_acc_subgraphs(subgraphs)
    lines.append(f"After removing small acc subgraphs: {_count(subgraphs)}")
    splitter.tag(subgraphs)
    lines += [f"{tag}: {len(part.nodes)} node(s)" for tag, part in zip(splitter.tags, subgraphs, strict=True)]
    split = splitter.split(remove_tag=True).eval()
    if dump_graph:
        for name, drawing in FxGraphDrawer(split, "preview", ignore_getattr=True).get_all_dot_graphs().items():
            Path(f"{name}.dot").write_text(drawing.to_string())

    slowest, bottleneck = float(splitter.PCIe_BW), ""
    for node in split.graph.nodes:
        if node.op == "call_module" and "acc" in node.target:
            lines += ["", f"Processing acc submodule {node.target}"]
            rate = _preview_part(splitter, split, split.get_submodule(node.target), lines.append)
            if rate < slowest:
                slowest, bottleneck = rate, node.target
    lines += ["", f"Theoretical max qps (bounded by PCIe bandwidth) for this model is {slowest},"]
    lines.append(f"the bottleneck is submodule {bottleneck}.")
    report = "\n".join(lines)
    print(report)  # noqa: T201 - printing is its purpose
    return report


def _count(subgraphs: list[Subgraph]) -> str:
    on_acc = sum(subgraph.is_acc for subgraph in subgraphs)
    return f"{len(subgraphs)} subgraphs, {on_acc} acc subgraphs and {len(subgraphs) - on_acc} cpu subgraphs."


def _preview_part(splitter: _SplitterBase, split: GraphModule, part: Any, tell: Callable[[str], None]) -> float:
    """Report on one part for the accelerator; return how many calls per second the transfer of its data allows."""
    inputs = _inputs_of(part, split, splitter.sample_input)
    ShapeProp(part).propagate(*inputs)
    going_in = _bytes(part, [node for node in part.graph.nodes if node.op == "placeholder"], "Input", tell)
    going_out = _bytes(part, part.graph.output_node().all_input_nodes, "Output", tell)
    rate = splitter.PCIe_BW / max(going_in, going_out)
    tell(f"Total input size in bytes is {going_in}, total output size in bytes is {going_out},")
    tell(f"theoretical max qps (bounded by PCIe bandwidth) for this submodule is {rate}.")
    step = "lowering"
    try:
        lowered = splitter._lower_model_to_backend(part, inputs)
        step = "inference"
        lowered(*inputs)
    except RuntimeError:
        tell(f"An error occurred during {step}!")
        tell(splitter._find_culprit(part, inputs))
    else:
        tell("Lowering and running succeeded!")
    return rate


def _inputs_of(part: torch.nn.Module, split: GraphModule, sample_input: Iterable[Any]) -> tuple[Any, ...]:
    """The arguments with which the split module calls the part."""
    seen: list[tuple[Any, ...]] = []
    handle = part.register_forward_pre_hook(lambda module, args: seen.append(args))
    try:
        split(*sample_input)
    finally:
        handle.remove()
    return seen[-1]


def _bytes(part: GraphModule, nodes: list[Node], role: str, tell: Callable[[str], None]) -> int:
    """The total size in bytes of the tensors among the nodes' values; ``tell`` receives a line about any other
    value."""
    total = 0
    for node in nodes:
        if is_node_output_tensor(node):
            total += get_size_of_node(part, node).output_size
        else:
            tell(f"{role} {node.name} is not a tensor; this may cause problems during lowering!")
    return total
