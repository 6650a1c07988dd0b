"""Splits a graph module by the tags on its nodes, and keeps values that aren't tensors inside one part.

Source: the interface and results are those of ``torch.fx.passes.split_utils``.
"""

from __future__ import annotations

import copy
import logging
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node, map_arg
from fxcore.passes.tools_common import CALLABLE_NODE_OPS, is_node_output_tensor
from fxcore.passes.utils.common import HolderModule, lift_subgraph_as_module

if TYPE_CHECKING:
    from fxcore.passes.splitter_base import Subgraph

__all__ = ["Component", "getattr_recursive", "move_non_tensor_nodes_on_boundary", "setattr_recursive", "split_by_tags"]

_log = logging.getLogger(__name__)


def getattr_recursive(obj: Any, name: str) -> Any:
    """The attribute with this dotted name, or None if there is none; in a ModuleList, only its modules are found."""
    for layer in name.split("."):
        obj = obj._modules.get(layer) if isinstance(obj, torch.nn.ModuleList) else getattr(obj, layer, None)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set the attribute with this dotted name. Raises AttributeError if the object to hold it doesn't exist."""
    parent, _, last = attr.rpartition(".")
    setattr(operator.attrgetter(parent)(obj) if parent else obj, last, value)


@dataclass
class Component:
    """One part of the split: the nodes with one tag, in a separate graph.

    ``orig_inputs``, ``orig_outputs`` and the keys of ``getattr_maps`` are nodes of the graph that is being split;
    ``input_placeholders`` and the values of ``getattr_maps`` belong to ``graph``.
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> GraphModule | tuple[GraphModule, dict[str, str]]:
    """Split a module into submodules, one for the nodes with each tag, called in the order of ``tags``.

    Every ``call_*`` node must have a ``tag`` attribute, one of ``tags``. ``get_attr`` nodes are copied to each
    submodule that uses them.

    Args:
        gm: the module to split; it remains unchanged.
        tags: the tags, which name the submodules; each must precede the tags of nodes that use values of its nodes.
        return_fqn_mapping: whether to also return the table of names.
        return_tuple: whether submodules return a tuple even for a single value.
        GraphModuleCls: the class of the result.

    Returns:
        The split module. With ``return_fqn_mapping`` a pair: the split module, and a table from the qualified names of
        modules and attributes in ``gm`` to those in the result.

    Raises:
        AssertionError: a node has no tag, or uses a value of a later tag.
        KeyError: a node has a tag that isn't in ``tags``.
    """
    split = _TagSplit(gm, tags)
    for node in gm.graph.nodes:
        split.place(node)
    split.find_outputs()
    names: dict[str, str] = {}
    for component in split.components.values():
        names.update(split.finish(component, return_tuple))
        split.call(component, return_tuple)
    result = GraphModuleCls(split.root(), split.main)
    return (result, names) if return_fqn_mapping else result


class _TagSplit:
    """The state of one split: the main graph, the components, and where each node of the original went."""

    def __init__(self, gm: GraphModule, tags: list[str]) -> None:
        self.gm = gm
        self.main = Graph()
        self.in_main: dict[Node, Node] = {}
        self.components = {tag: Component(Graph(), order, tag) for order, tag in enumerate(tags)}
        self.component_of: dict[Node, Component] = {}
        self.copy_of: dict[Node, Node] = {}
        self.inputs: dict[str, dict[Node, Node]] = {tag: {} for tag in tags}
        self.used_in_main: dict[Node, None] = {}

    def place(self, node: Node) -> None:
        """Copy a placeholder to the main graph, or a ``call_*`` node to its component."""
        if node.op == "placeholder":
            placeholder = self.main.placeholder(node.name, type_expr=node.type)
            placeholder.meta = copy.copy(node.meta)
            self.in_main[node] = placeholder
        elif node.op in CALLABLE_NODE_OPS:
            component = self._component_for(node)
            self.component_of[node] = component
            copied = component.graph.node_copy(node, lambda used: self._value_in(component, used))
            copied.tag = component.name  # type: ignore[attr-defined]
            self.copy_of[node] = copied

    def _component_for(self, node: Node) -> Component:
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node does not have tag: {node.format_node()}")
        component = self.components[node.tag]
        made_in = [self.component_of[used] for used in node.all_input_nodes if used in self.component_of]
        latest = max((each.order for each in made_in), default=0)
        if component.order < latest:
            raise AssertionError(
                f"{node} of {component.name} uses a value from a component with a later tag (number {latest})"
            )
        return component

    def _value_in(self, component: Component, node: Node) -> Node:
        """The node that represents ``node`` in the component: its copy there, or an input."""
        if node.op == "get_attr":
            return self._attribute_in(component, node)
        if self.component_of.get(node) is component:
            return self.copy_of[node]
        inputs = self.inputs[component.name]
        if node not in inputs:
            placeholder = component.graph.placeholder(node.name, type_expr=node.type)
            placeholder.meta = copy.copy(node.meta)
            inputs[node] = placeholder
            component.orig_inputs.append(node)
            component.input_placeholders.append(placeholder)
            self.used_in_main[node] = None
        return inputs[node]

    @staticmethod
    def _attribute_in(component: Component, node: Node) -> Node:
        if node not in component.getattr_maps:
            fetched = component.graph.get_attr(str(node.target), type_expr=node.type)
            fetched.meta = copy.copy(node.meta)
            component.getattr_maps[node] = fetched
        return component.getattr_maps[node]

    def _returned(self) -> list[Node]:
        nodes: list[Node] = self.gm.graph.output_node().all_input_nodes
        return nodes

    def find_outputs(self) -> None:
        """Make every value that the main graph needs an output of its component."""
        for node in self._returned():
            if node.op == "get_attr":
                self.in_main[node] = self.main.get_attr(node.name, type_expr=node.type)
            else:
                self.used_in_main[node] = None
        for node in self.used_in_main:
            if node.op != "placeholder":
                self.component_of[node].orig_outputs.append(node)

    def finish(self, component: Component, return_tuple: bool) -> dict[str, str]:
        """Add the component's output and make its module; return its part of the table of names."""
        outputs = tuple(self.copy_of[node] for node in component.orig_outputs)
        component.graph.output(outputs[0] if len(outputs) == 1 and not return_tuple else outputs)
        component.gm, names = lift_subgraph_as_module(self.gm, subgraph=component.graph, comp_name=component.name)
        return names

    def call(self, component: Component, return_tuple: bool) -> None:
        """Call the component in the main graph and unpack what it returns."""
        call = self.main.call_module(component.name, tuple(self.in_main[node] for node in component.orig_inputs))
        alone = len(component.orig_outputs) == 1 and not return_tuple
        for index, node in enumerate(component.orig_outputs):
            self.in_main[node] = call if alone else self.main.call_function(operator.getitem, (call, index))

    def root(self) -> torch.nn.Module:
        """Complete the main graph with its output; return a module with everything that the main graph refers to."""
        self.main.output(map_arg(self.gm.graph.output_node().args[0], self.in_main.__getitem__))
        self.main._codegen = self.gm.graph._codegen
        root = HolderModule({component.name: component.gm for component in self.components.values()})
        for node in self._returned():
            if node.op == "get_attr":
                setattr(root, node.name, getattr_recursive(self.gm, str(node.target)))
        return root


def move_non_tensor_nodes_on_boundary(subgraphs: list[Subgraph]) -> None:
    """Move nodes whose values aren't tensors out of accelerator subgraphs, to the subgraph that uses them.

    A node moves along with all nodes that depend on it in its subgraph, if only one other subgraph uses them. Then the
    node's own inputs are examined in the same way. ``meta["type"]``, which shape propagation records, decides which
    values are tensors.

    Args:
        subgraphs: the subgraphs, changed in place.
    """
    boundary = _Boundary(subgraphs)
    for index, subgraph in enumerate(subgraphs):
        if subgraph.is_acc:
            boundary.clear(index)


class _Boundary:
    """Keeps track of the subgraph that each node is in while nodes are moved."""

    def __init__(self, subgraphs: list[Subgraph]) -> None:
        self.subgraphs = subgraphs
        self.place = {node: index for index, subgraph in enumerate(subgraphs) for node in subgraph.nodes}

    def _placed(self, nodes: Iterable[Node]) -> list[Node]:
        return [node for node in nodes if node.op in CALLABLE_NODE_OPS and node in self.place]

    def _used_in(self, node: Node) -> set[int]:
        """The other subgraphs that use the node's value."""
        return {self.place[user] for user in self._placed(node.users)} - {self.place[node]}

    def _moves(self, node: Node) -> bool:
        return not is_node_output_tensor(node) and bool(self._used_in(node))

    def clear(self, index: int) -> None:
        """Move all nodes that can be moved out of subgraph ``index``."""
        queue = [node for node in self.subgraphs[index].nodes if self._moves(node)]
        seen: set[Node] = set()
        for node in queue:  # it grows during the loop
            if node in seen or self.place[node] != index:
                continue
            seen.add(node)
            goals = self._used_in(node)
            if len(goals) != 1:
                _log.info("%s does not move because subgraphs %s use it", node.name, goals)
                continue
            moving = self._with_dependants(node, index, *goals)
            if moving:
                self._move(moving, index, *goals)
                queue += [
                    used
                    for used in self._placed(node.all_input_nodes)
                    if self.place[used] == index and self._moves(used)
                ]

    def _with_dependants(self, node: Node, start: int, goal: int) -> list[Node]:
        """The node and those in subgraph ``start`` that depend on it; empty if a third subgraph uses any of them."""
        found: dict[Node, None] = {}
        stack = [node]
        while stack:
            current = stack.pop()
            place = self.place[current]
            if place not in (start, goal):
                return []
            if place == start and current not in found:
                found[current] = None
                stack += self._placed(current.users)
        return list(found)

    def _move(self, nodes: list[Node], start: int, goal: int) -> None:
        for node in nodes:
            self.subgraphs[start].nodes.remove(node)
            self.subgraphs[goal].nodes.append(node)
            self.place[node] = goal
            _log.info("%s moves from subgraph %d to subgraph %d", node.name, start, goal)
