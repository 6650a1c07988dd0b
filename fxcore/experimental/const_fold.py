"""Constant folding: computes once the parts of a graph that depend only on constants.

Source: the interface and results are those of ``torch.fx.experimental.const_fold``.
"""

import operator
import re
from collections.abc import Callable
from typing import Any

import torch

from fxcore._symbolic_trace import symbolic_trace
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node, map_arg
from fxcore.passes.split_module import split_module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]

_CONST, _REST = "submod_0", "submod_1"


class FoldedGraphModule(GraphModule):
    """A graph module whose constants are computed by a separate graph, on the first call.

    Args:
        root: the module with the attributes that ``graph`` and ``const_subgraph`` refer to.
        graph: the graph without the computation of the constants; it fetches their values instead.
        const_subgraph: the graph, without inputs, that computes the constants; None if there is nothing to fold.
        fx_const_folded_attrs_name: the attribute that holds the constants: a Parameter, or a ParameterList if
            ``const_subgraph`` returns a tuple.
        device_for_folded_attrs: the device for a constant that is computed as an int.
    """

    def __init__(
        self,
        root: torch.nn.Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module; compute the constants first if that has not been done."""
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants and store them. Raises AssertionError if that has already been done."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("the constants have already been folded")
        self.has_folding_been_run = True
        values = self.const_subgraph_module()
        folded = (
            torch.nn.ParameterList([self._parameter(value) for value in values])
            if isinstance(values, tuple)
            else self._parameter(values)
        )
        setattr(self, self.fx_const_folded_attrs_name, folded)

    def _parameter(self, value: torch.Tensor | int) -> torch.nn.Parameter:
        if isinstance(value, int):
            return torch.nn.Parameter(torch.Tensor([value]).to(self.device_for_folded_attrs), requires_grad=False)
        return torch.nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: torch.nn.Module, name: str) -> str:
    """``name`` as an identifier that isn't an attribute of the module yet: ``w``, ``w_1``, ``w_2``, …"""
    name = re.sub(r"[^0-9a-zA-Z_]+", "_", name)
    if name[0].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        stem, underscore, number = name.rpartition("_")
        name = f"{stem}_{int(number) + 1}" if underscore and number.isdecimal() else f"{name}_1"
    return name


def split_const_subgraphs(
    module: torch.nn.Module,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """Separate the computations of ``module`` that depend only on its parameters, buffers and constants.

    Args:
        module: a module, which is traced, or a graph module, which remains unchanged.
        skip_folding_node_fn: returns true for nodes that must not be folded. Nodes with side effects are never folded.
        device_for_folded_attrs: the device for a constant that is computed as an int.

    Returns:
        A module that computes the constants on its first call, and the rest on every call.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced, skip_folding_node_fn)
    if all(node.op == "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)

    split = split_module(traced, module, lambda node: 0 if node in constant else 1)
    for part in (_REST, _CONST):
        _adopt_submodules(split, part)
    call = next(node for node in split.graph.nodes if node.target == _CONST)
    const_graph = _without_inputs(getattr(split, _CONST).graph, call)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    returns_tuple = isinstance(const_graph.output_node().args[0], tuple)
    setattr(split, name, torch.nn.ParameterList() if returns_tuple else torch.nn.Parameter())
    with split.graph.inserting_before(call):
        folded = split.graph.get_attr(name)
    folded.meta = call.meta.copy()
    call.replace_all_uses_with(folded)
    if hasattr(split, _REST):
        _inline_module(split, _REST)
    split.graph.eliminate_dead_code()
    return FoldedGraphModule(split, split.graph, const_graph, name, device_for_folded_attrs)


def _constant_nodes(traced: GraphModule, skip: Callable[[Node], bool] | None) -> set[Node]:
    """The nodes that don't depend on any input and may be computed only once."""
    constant: set[Node] = set()
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if not constant.issuperset(node.all_input_nodes) or (skip is not None and skip(node)):
            continue
        if not node.is_impure() and not _calls_impure_module(traced, node):
            constant.add(node)
    return constant


def _calls_impure_module(root: GraphModule, node: Node) -> bool:
    """Whether the node calls a graph module that has side effects."""
    if node.op != "call_module":
        return False
    called = root.get_submodule(str(node.target))
    return isinstance(called, GraphModule) and any(
        (each.op == "call_function" and each.is_impure()) or _calls_impure_module(called, each)
        for each in called.graph.nodes
    )


def _adopt_submodules(split: GraphModule, part: str) -> None:
    """Register the modules that a part calls as modules of ``split``, where the part's nodes will look them up."""
    module = getattr(split, part, None)
    if module is not None:
        for node in module.graph.nodes:
            if node.op == "call_module":
                setattr(split, node.target, getattr(module, node.target))


def _without_inputs(graph: Graph, call: Node) -> Graph:
    """A copy of the constant part's graph that fetches the attributes that ``call`` passes to it."""
    result = Graph()
    result.output(result.graph_copy(graph, {}))
    placeholders = [node for node in result.nodes if node.op == "placeholder"]
    for placeholder, handed_in in zip(placeholders, call.args, strict=True):
        with result.inserting_before(placeholder):
            fetched = result.get_attr(handed_in.target)
        fetched.meta = placeholder.meta.copy()
        placeholder.replace_all_uses_with(fetched)
        result.erase_node(placeholder)
    return result


def _inline_module(gm: GraphModule, inline_mod_name: str, run_dce: bool = True) -> dict[Node, Any]:
    """Put the nodes of a graph module in place of the first node that calls it.

    Args:
        gm: the module to change.
        inline_mod_name: the qualified name of the graph module in it.
        run_dce: eliminate dead code afterwards.

    Returns:
        What replaces each node of the inlined graph, and each ``getitem`` of ``gm`` that read an item of its result.

    Raises:
        AssertionError: ``inline_mod_name`` isn't a graph module, or no node calls it.
    """
    inlined = dict(gm.named_modules())[inline_mod_name]
    if not isinstance(inlined, GraphModule):
        raise AssertionError(f"{inline_mod_name} must be a GraphModule, not {type(inlined)}")
    call = next((node for node in gm.graph.find_nodes(op="call_module", target=inline_mod_name)), None)
    if call is None:
        raise AssertionError(f"no node calls {inline_mod_name}")

    replacement: dict[Node, Any] = {}

    def stand_in(node: Node) -> Any:
        value = replacement[node]
        if isinstance(value, Node):
            value.meta = node.meta.copy()
        return value

    positional = iter(call.args)
    for node in inlined.graph.nodes:
        if node.op == "placeholder":
            replacement[node] = call.kwargs[node.name] if node.name in call.kwargs else next(positional)
        elif node.op == "output":
            replacement.update(_replace_call(call, map_arg(node.args[0], stand_in)))
        else:
            with gm.graph.inserting_before(call):
                replacement[node] = gm.graph.node_copy(node, stand_in)
    gm.graph.erase_node(call)
    if run_dce:
        gm.graph.eliminate_dead_code()
    return replacement


def _replace_call(call: Node, result: Any) -> dict[Node, Any]:
    """Replace the call with ``result``; if that is a tuple or list, replace ``getitem`` nodes with its items."""
    items: dict[Node, Any] = {}
    for user in list(call.users):
        if isinstance(result, list | tuple) and user.target is operator.getitem and isinstance(user.args[1], int):
            items[user] = result[user.args[1]]
            user.replace_all_uses_with(items[user])
            call.graph.erase_node(user)
    call.replace_all_uses_with(result)
    return items
