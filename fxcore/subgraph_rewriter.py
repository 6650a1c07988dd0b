"""Replace every occurrence of a pattern in a graph."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch

from fxcore._symbolic_trace import symbolic_trace
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.nodes.attribute_paths import _assign_attr, _has_attr
from fxcore.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

_Program = Callable[..., Any] | Graph | GraphModule
_MatchFilter = Callable[[InternalMatch, Graph, Graph], bool]
_ReplacementCallback = Callable[[InternalMatch, Graph, Graph], Graph]


class Match(NamedTuple):
    """Where a pattern occurred.

    Attributes:
        anchor: The node of the pattern from which the match was found.
        nodes_map: What each node of the pattern matched in the graph.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """Where a pattern occurred, and what stands there now.

    Attributes:
        anchor: The node of the pattern from which the match was found.
        nodes_map: What each node of the pattern matched in the graph.
        replacements: The nodes that were added to the graph.
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace every occurrence of a pattern; of those that overlap, the first one.

    What makes an occurrence is how operations are connected, not their names or whether they stand together::

        def pattern(a, b):
            return torch.cat([a, b])

        def replacement(a, b):
            return torch.stack([a, b])

        replace_pattern(graph_module, pattern, replacement)

    The parameters of the pattern match anything, literals too; the replacement has as many, in the same order, and each
    of the pattern's is used. Operations inside an occurrence are used by that occurrence alone, except what the
    pattern returns. The time is linear in the graph.

    Args:
        gm: The module whose graph is changed.
        pattern: What to look for: a function or module, which is traced, or a traced one.
        replacement: What to put there, likewise. The submodules, parameters and buffers of a module that ``gm`` lacks
            are copied to it, and those that ``gm`` no longer uses are deleted.

    Returns:
        The occurrences that were replaced, in the order of the graph.

    Raises:
        AssertionError: The pattern does something it doesn't use, or the two differ in their number of parameters or
            results.
        RuntimeError: The replacement uses an attribute that neither of the modules has.
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=match.anchor, nodes_map=match.nodes_map) for match in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: _Program,
    replacement: _Program | None = None,
    match_filters: Sequence[_MatchFilter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: _ReplacementCallback | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Replace those occurrences of a pattern that pass some filters; otherwise as ``replace_pattern``.

    Args:
        gm: The module whose graph is changed.
        pattern: What to look for.
        replacement: What to put there.
        match_filters: Called with an occurrence, the graph and the pattern's graph; all have to return True. They see
            the graph before the first replacement.
        ignore_literals: Whether literals in the pattern match anything.
        replacement_callback: Called with the same; returns the graph to put there, and takes precedence over
            ``replacement``. It sees the graph with all earlier replacements made.
        node_name_match: A text that makes the pattern's last operations match every node whose name contains it.

    Returns:
        The occurrences, with the nodes that took their place.

    Raises:
        AssertionError: As ``replace_pattern``, or there is neither a replacement nor a callback.
        RuntimeError: As ``replace_pattern``.
    """
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(gm.graph, node_name_match=node_name_match)
        if all(accepts(match, gm.graph, pattern_graph) for accepts in match_filters or ())
    ]
    make_replacement = replacement_callback or _always(replacement)
    rewriter = _Rewriter(gm.graph, pattern_graph)
    replaced = [rewriter.replace(match, make_replacement(match, gm.graph, pattern_graph)) for match in matches]
    _install_constants(gm)
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _replace_attributes(gm, replacement)
    return replaced


_replace_pattern = replace_pattern_with_filters  # the name that programs imported before there was the public one


class _Rewriter:
    """Puts other nodes in the place of matches, one after the other, in one graph."""

    def __init__(self, graph: Graph, pattern: Graph) -> None:
        self._graph = graph
        self._pattern = pattern
        self._replaced_by: dict[Node, Node] = {}

    def replace(self, match: InternalMatch, replacement: Graph) -> ReplacedPatterns:
        """Copy ``replacement`` into the graph and erase the match."""
        _check_same_number("results", match.returning_nodes, _results(replacement.output_node().args[0]))
        values = self._bind_placeholders(match, replacement)
        with self._graph.inserting_before(_first_use(match.returning_nodes)):
            results = _results(self._graph.graph_copy(replacement, values))
        added = [node for node in values.values() if node not in match.placeholder_nodes]
        for old, new in zip(match.returning_nodes, results, strict=True):
            old.replace_all_uses_with(new)
            self._replaced_by[old] = new
        for node in reversed(self._pattern.nodes):
            if node.op not in ("placeholder", "output"):
                self._graph.erase_node(match.nodes_map[node])
        return ReplacedPatterns(match.anchors[0], match.nodes_map, added)

    def _bind_placeholders(self, match: InternalMatch, replacement: Graph) -> dict[Node, Node]:
        """Map the replacement's placeholders to what the pattern's matched, as it is by now."""
        match.nodes_map.update({node: self._current(value) for node, value in match.nodes_map.items()})
        match.placeholder_nodes = [self._current(value) for value in match.placeholder_nodes]
        placeholders = [node for node in replacement.nodes if node.op == "placeholder"]
        _check_same_number("parameters", match.placeholder_nodes, placeholders)
        return dict(zip(placeholders, match.placeholder_nodes, strict=True))

    def _current(self, value: Node) -> Node:
        """What stands in the graph for a node that earlier replacements may have erased; a literal is itself."""
        while isinstance(value, Node) and value in self._replaced_by:
            value = self._replaced_by[value]
        return value


def _graph_of(program: _Program) -> Graph:
    """The graph of a traced module, or of a function or module by tracing it."""
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _always(replacement: _Program | None) -> _ReplacementCallback:
    """A callback that replaces every match by the same."""
    if replacement is None:
        raise AssertionError("Pass either a replacement or a replacement callback")
    graph = _graph_of(replacement)
    return lambda match, original_graph, pattern_graph: graph


def _first_use(nodes: Iterable[Node]) -> Node:
    """The first node of the graph that uses one of ``nodes``; if none does, the one that follows the last of them."""
    nodes = list(nodes)
    users = [user for node in nodes for user in node.users]
    return min(users) if users else max(nodes).next


def _results(returned: Any) -> Sequence[Any]:
    """What a graph returns, as a sequence also if it is one node."""
    return (returned,) if isinstance(returned, Node) else cast("Sequence[Any]", returned)


def _check_same_number(what: str, of_pattern: Sequence[object], of_replacement: Sequence[object]) -> None:
    if len(of_pattern) != len(of_replacement):
        raise AssertionError(f"The pattern has {len(of_pattern)} {what}, but the replacement has {len(of_replacement)}")


def _install_constants(gm: GraphModule) -> None:
    """Give ``gm`` the constants that came with replacements, unless it has something of their name."""
    for name, value in gm.graph.constants.items():
        if not _has_attr(gm, name):
            _assign_attr(value, gm, name)


def _replace_attributes(gm: GraphModule, replacement: torch.nn.Module) -> None:
    """Give ``gm`` what its new nodes refer to, and delete the submodules that none refers to any more."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = cast(str, node.target)
        if _attribute(gm, target) is not None:
            continue
        value = _attribute(replacement, target)
        if value is None:
            raise RuntimeError(f"The replacement's {node.op} node refers to {target}, which exists in neither module")
        if isinstance(value, torch.nn.Module):
            gm.add_submodule(target, copy.deepcopy(value))
        else:
            setattr(gm, target, copy.deepcopy(value))
    gm.graph.lint()


def _attribute(module: torch.nn.Module, target: str) -> Any:
    """The attribute with a qualified name, or None."""
    path, _, name = target.rpartition(".")
    try:
        return getattr(module.get_submodule(path), name, None)
    except AttributeError:
        return None
