"""Common subexpression elimination: of several calls with the same arguments, only the first is kept.

Source: J. Cocke, "Global common subexpression elimination", SIGPLAN Notices 5 (1970), for straight-line code.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch

from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node, map_arg
from fxcore.passes.infra.pass_base import PassBase, PassResult
from fxcore.torch_compat import OpOverloadPacket

__all__ = ["CSEPass", "get_CSE_banned_ops"]

aten = torch.ops.aten

# Operators that return a different value on every call.
rand_ops = {
    aten._fused_dropout,
    aten._standard_gamma,
    aten.bernoulli,
    aten.binomial,
    aten.dropout,
    aten.multinomial,
    aten.native_dropout,
    aten.normal,
    aten.poisson,
    aten.rand,
    aten.rand_like,
    aten.randint,
    aten.randn,
    aten.randperm,
    aten.rrelu,
}

# Operators that modify their first argument.
inplace_ops = {
    aten.add_,
    aten.div_,
    aten.lerp_,
    aten.mul_,
    aten.pow_,
    aten.relu_,
    aten.sigmoid_,
    aten.sub_,
    aten.tanh_,
}


def get_CSE_banned_ops() -> set[OpOverloadPacket]:
    """Common operators of ``torch.ops.aten`` whose calls must not be removed."""
    return rand_ops | inplace_ops


class CSEPass(PassBase):
    """Removes each node that calls the same function as an earlier node, with the same arguments.

    The pass doesn't know what functions do: those that have side effects, or that return a different value on each
    call, must be banned.
    """

    def __init__(self, banned_ops: set[OpOverloadPacket] | None = None) -> None:
        """Prepare the pass.

        Args:
            banned_ops: Targets whose calls are never removed; an operator such as ``torch.ops.aten.add`` includes all
                its overloads.
        """
        self.banned_ops = banned_ops or set()

    def call(self, graph_module: GraphModule) -> PassResult:
        """Run the pass.

        Args:
            graph_module: A module, which remains unchanged.

        Returns:
            A new module with fewer nodes; or ``graph_module`` itself, not modified, if no node can be removed.
        """
        new_graph = Graph()
        new_graph.set_codegen(graph_module.graph._codegen)
        new_graph.constants.update(graph_module.graph.constants)
        copies: dict[Node, Node] = {}
        known: dict[Hashable, Node] = {}
        for node in graph_module.graph.nodes:
            key = self._key(node, copies)
            if key is not None and key in known:
                copies[node] = known[key]
                continue
            copies[node] = new_graph.node_copy(node, copies.__getitem__)
            if key is not None:
                known[key] = copies[node]
        if len(new_graph.nodes) == len(graph_module.graph.nodes):
            return PassResult(graph_module, False)
        return PassResult(GraphModule(graph_module, new_graph), True)

    def _key(self, node: Node, copies: dict[Node, Node]) -> Hashable:
        """A key that two nodes share if and only if one can replace the other; None for a node that must be kept."""
        if node.op in ("placeholder", "get_attr", "output"):
            return None
        if getattr(node.target, "overloadpacket", node.target) in self.banned_ops:
            return None
        arguments = map_arg((node.args, node.kwargs), copies.__getitem__)
        return node.op, node.target, _argument_key(arguments)


def _argument_key(argument: Any) -> Hashable:
    """A key that differs for arguments that compare equal but aren't the same: 1, 1.0 and True; 0.0 and -0.0."""
    if isinstance(argument, tuple | list):
        return type(argument), *map(_argument_key, argument)
    if isinstance(argument, dict):
        return type(argument), *((key, _argument_key(value)) for key, value in argument.items())
    if isinstance(argument, slice):
        return slice, *map(_argument_key, (argument.start, argument.stop, argument.step))
    if isinstance(argument, float):
        return float, argument.hex()
    return type(argument), argument
