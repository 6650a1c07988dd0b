"""A matcher whose matches map names, which the pattern defines, to the matched nodes."""

from __future__ import annotations

from typing import cast

from fxcore.codegen import _PyTreeCodeGen
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from fxcore.torch_compat import torch_pytree

__all__ = ["InternalMatch", "SubgraphMatcherWithNameNodeMap", "_split_to_graph_and_name_node_map"]


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """Finds the occurrences of a pattern, and the nodes in each occurrence by name.

    The last item that the pattern returns is a dict from names to its nodes::

        def scores(query, key):
            product = query @ key
            return product.softmax(-1), {"product": product}

        matcher = SubgraphMatcherWithNameNodeMap(symbolic_trace(scores))
        products = [match.name_node_map["product"] for match in matcher.match(graph)]
    """

    def __init__(self, pattern_gm: GraphModule, *args: bool, **options: bool) -> None:
        """Prepare a pattern.

        Args:
            pattern_gm: The pattern. Its graph is changed: the dict is removed from what it returns.
            *args: Options of ``SubgraphMatcher`` by position.
            **options: Options of ``SubgraphMatcher`` by name.

        Raises:
            AssertionError: The pattern does not return a tuple of at least two items, the last of which is a dict.
        """
        _, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        super().__init__(pattern_gm.graph, *args, **options)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Find the pattern in a graph, as ``SubgraphMatcher.match`` does, and fill each match's ``name_node_map``."""
        matches = super().match(graph, node_name_match)
        for match in matches:
            match.name_node_map = {name: match.nodes_map[node] for name, node in self.name_node_map.items()}
        return matches


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Node]]:
    """Remove the dict at the end of what a pattern returns; return the pattern and the dict."""
    output = gm.graph.output_node()
    results = gm.graph.process_outputs(output.args[0])
    if not isinstance(results, tuple) or len(results) < 2 or not isinstance(results[-1], dict):
        raise AssertionError(f"The pattern must return a tuple that ends with a dict of its nodes, not {results}")
    *kept, names = results
    codegen = gm.graph._codegen
    if isinstance(codegen, _PyTreeCodeGen):
        leaves, spec = torch_pytree.tree_flatten(kept)
        output.args = (leaves,)
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=spec)
    else:
        output.args = (kept[0] if len(kept) == 1 else tuple(kept),)
    gm.recompile()
    return gm, cast("dict[str, Node]", names)
