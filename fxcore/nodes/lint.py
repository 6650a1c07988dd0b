"""Checks that a graph is well-formed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fxcore.node import Node, _legal_ops

if TYPE_CHECKING:
    from fxcore.graph import Graph


def lint(graph: Graph) -> None:
    """Check a graph; see `Graph.lint`."""
    names: set[str] = set()
    for node in graph.nodes:
        if node.op not in _legal_ops or node.op == "root":
            raise RuntimeError(f"'{node}' has the unknown opcode '{node.op}'")
        if node.graph is not graph:
            raise RuntimeError(f"'{node}' is in the node list of this Graph, but belongs to another Graph")
        for used in node._inputs:
            _check_input(graph, node, used)
        if node.name in names:
            raise RuntimeError(f"two nodes have the name '{node.name}'")
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            _check_target(node, graph.owning_module)


def _check_input(graph: Graph, node: Node, used: Node) -> None:
    if used.graph is not graph:
        raise RuntimeError(
            f"'{node}' uses '{used}', which belongs to another Graph. When you copy nodes with `node_copy` or "
            "`graph_copy`, say which node replaces each of their inputs"
        )
    if used._erased or not used < node:
        raise RuntimeError(f"'{node}' uses '{used}' before it is defined: the nodes are in the wrong order")


def _check_target(node: Node, root: torch.nn.Module) -> None:
    target = node.target
    if node.op == "call_function":
        if not callable(target):
            raise ValueError(f"the target of '{node}' can't be called: {target!r}")
        return
    if not isinstance(target, str):
        raise ValueError(f"the target of '{node}' ({node.op}) must be a str, not {target!r}")
    if node.op in ("get_attr", "call_module"):
        _check_path(node, target, root)


def _check_path(node: Node, target: str, root: torch.nn.Module) -> None:
    holder: object = root
    atoms = target.split(".")
    for depth, atom in enumerate(atoms):
        value = getattr(holder, atom, None)
        if value is None:
            where = ".".join(atoms[:depth]) or "the owning module"
            raise RuntimeError(f"the target of '{node}', {target}, doesn't exist: {where} has no '{atom}'")
        if node.op == "call_module" and not isinstance(value, torch.nn.Module):
            raise RuntimeError(f"the target of '{node}', {target}, passes through '{atom}', which is not an nn.Module")
        holder = value
