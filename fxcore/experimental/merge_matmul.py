"""Merges matrix multiplications that share their right-hand operand into one.

Source: the interface and results are those of ``torch.fx.experimental.merge_matmul``.
"""

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import torch

from fxcore._symbolic_trace import symbolic_trace
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes.tools_common import legalize_graph
from fxcore.proxy import Proxy

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: Any, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Split the product of the concatenated ``inputs`` into one product for each input.

    Args:
        result: the product, of shape ``(sum of rows, R)``.
        inputs: the left-hand operands, of shapes ``(rows, K)``.

    Returns:
        The products, of shapes ``(rows, R)``; during a trace, a Proxy for their tuple.
    """
    sizes = [0] * len(inputs) if isinstance(result, Proxy) else [x.shape[0] for x in inputs]
    return torch.split(result, sizes)


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether ``a`` is ``b`` or may depend on it; True if ``search_depth`` steps back don't settle the question."""
    level = {a}
    for _ in range(search_depth + 1):
        if b in level:
            return True
        level = {used for node in level for used in node.all_input_nodes}
    return bool(level)


def are_nodes_independent(nodes: Sequence[Node]) -> bool:
    """Whether none of the nodes may depend on another."""
    return not any(may_depend_on(a, b) for a, b in itertools.permutations(nodes, 2))


def merge_matmul(in_mod: torch.nn.Module) -> GraphModule:
    """Trace the module, and compute independent products ``a @ w`` and ``b @ w`` together.

    The products are split from the result of ``cat([a, b]) @ w``. If one of the products with the same ``w`` may depend
    on another, all of them remain unchanged.

    Args:
        in_mod: a module whose calls to ``torch.matmul`` have left-hand operands of two dimensions.
    """
    traced = symbolic_trace(in_mod)
    merged = False
    by_rhs: dict[Any, list[Node]] = {}
    for node in traced.graph.nodes:
        if node.op == "call_function" and node.target is torch.matmul:
            # Two nodes that fetch the same attribute count as the same operand.
            rhs = node.args[1]
            by_rhs.setdefault(rhs.target if rhs.op == "get_attr" else rhs, []).append(node)
    for rhs, products in by_rhs.items():
        if len(products) > 1 and are_nodes_independent(products):
            _merge(traced.graph, rhs, products)
            merged = True
    if merged:
        legalize_graph(traced)  # new nodes are at the end, after the nodes that use them
    traced.recompile()
    traced.graph.lint()
    return traced


def _merge(graph: Graph, rhs: Any, products: list[Node]) -> None:
    lhs = [node.args[0] for node in products]
    operand = graph.get_attr(rhs) if isinstance(rhs, str) else rhs
    together = graph.call_function(torch.matmul, (graph.call_function(torch.cat, (lhs,)), operand))
    parts = graph.call_function(split_result_tensors, (together, lhs))
    for index, product in enumerate(products):
        product.replace_all_uses_with(graph.call_function(operator.getitem, (parts, index)))
        graph.erase_node(product)
