"""Lifts a part of a graph out as a module, and compares two graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from torch.nn import Module

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that only holds other modules, so that a lifted subgraph finds its attributes at their old paths."""

    def __init__(self, d: Mapping[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """Make a module from a graph whose nodes were copied from another module's graph.

    Args:
        gm: The module that the nodes come from; its parameters, buffers and submodules are shared, not copied.
        subgraph: A valid graph that refers to attributes of ``gm``.
        comp_name: The name that the new module will have in its parent.
        class_name: The name of the new module's class.

    Returns:
        The new module, and a table from the old qualified name of each of its attributes to the new one: ``comp_name``,
        a dot and the old name.

    Raises:
        AttributeError: ``subgraph`` refers to an attribute that ``gm`` does not have.
    """
    root = HolderModule({})
    new_names: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op in ("call_module", "get_attr"):
            target = cast(str, node.target)
            _share_attribute(gm, root, target)
            new_names[target] = f"{comp_name}.{target}"
    return GraphModule(root, subgraph, class_name), new_names


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs have the same inputs, outputs and operations, connected in the same way."""
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return bool(matcher.match(right))


def _share_attribute(source: Module, destination: Module, target: str) -> None:
    """Make ``destination`` share the attribute ``target`` of ``source``; missing modules on the path are created."""
    *path, name = target.split(".")
    value: Any = source
    for atom in path:
        if not hasattr(destination, atom):
            destination.add_module(atom, HolderModule({}))
        destination = getattr(destination, atom)
        value = getattr(value, atom)
    setattr(destination, name, getattr(value, name))
