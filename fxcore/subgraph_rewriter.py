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
    """One occurrence of a pattern in a graph.

    Attributes:
        anchor: The node of the pattern from which the match was found.
        nodes_map: What each node of the pattern matched in the graph.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """One occurrence of a pattern in a graph, and what replaced it.

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
    """Replace every occurrence of a pattern; if some overlap, replace only the first of them.

    Occurrences are recognized by how operations are connected, not by their nodes' names or whether they are adjacent::

        def pattern(a, b):
            return torch.cat([a, b])

        def replacement(a, b):
            return torch.stack([a, b])

        replace_pattern(graph_module, pattern, replacement)

    The parameters of the pattern match anything, including literals. The pattern must use each of them, and the
    replacement must have as many parameters, in the same order. Operations inside an occurrence, except those whose
    results the pattern returns, must have no users outside it. The time taken is linear in the size of the graph.

    Args:
        gm: The module whose graph is changed.
        pattern: What to look for: a function or module, which is traced, or a traced module.
        replacement: What to put in its place, given in the same way. If it is a module, those of its submodules,
            parameters and buffers that ``gm`` lacks are copied to ``gm``, and submodules of ``gm`` that aren't used
            after the replacement are deleted.

    Returns:
        The occurrences that were replaced, in the order of the graph.

    Raises:
        AssertionError: The pattern has an operation whose result isn't used, or pattern and replacement differ in
            their number of parameters or results.
        RuntimeError: The replacement uses an attribute that neither it nor ``gm`` has.
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
    """Replace those occurrences of a pattern that pass all filters; otherwise like ``replace_pattern``.

    Args:
        gm: The module whose graph is changed.
        pattern: What to look for.
        replacement: What to put in its place.
        match_filters: Functions that are called with an occurrence, the graph and the pattern's graph; all of them have
            to return True. They see the graph before the first replacement.
        ignore_literals: Whether literals in the pattern match anything.
        replacement_callback: A function that is called with the same arguments as a filter and returns the graph to put
            in place of the occurrence. It takes precedence over ``replacement``, and sees the graph after all earlier
            replacements.
        node_name_match: A string; the pattern's last operations also match every node whose name contains it.

    Returns:
        The occurrences, with the nodes that replaced them.

    Raises:
        AssertionError: As for ``replace_pattern``, or if neither a replacement nor a callback was given.
        RuntimeError: As for ``replace_pattern``.
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


_replace_pattern = replace_pattern_with_filters  # a private name that programs import


class _Rewriter:
    """Replaces matches in one graph with other nodes, one match after the other."""

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
        """Map the replacement's placeholders to what the pattern's placeholders matched, or to what replaced that."""
        match.nodes_map.update({node: self._current(value) for node, value in match.nodes_map.items()})
        match.placeholder_nodes = [self._current(value) for value in match.placeholder_nodes]
        placeholders = [node for node in replacement.nodes if node.op == "placeholder"]
        _check_same_number("parameters", match.placeholder_nodes, placeholders)
        return dict(zip(placeholders, match.placeholder_nodes, strict=True))

    def _current(self, value: Node) -> Node:
        """The node that took the place of ``value``, if earlier replacements erased it; otherwise ``value`` itself."""
        while isinstance(value, Node) and value in self._replaced_by:
            value = self._replaced_by[value]
        return value


def _graph_of(program: _Program) -> Graph:
    """The graph of ``program``, which is traced unless it is a graph or a traced module."""
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _always(replacement: _Program | None) -> _ReplacementCallback:
    """A callback that returns the same replacement for every match."""
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
    """The results of a graph, as a sequence even if the graph returns a single node."""
    return (returned,) if isinstance(returned, Node) else cast("Sequence[Any]", returned)


def _check_same_number(what: str, of_pattern: Sequence[object], of_replacement: Sequence[object]) -> None:
    if len(of_pattern) != len(of_replacement):
        raise AssertionError(f"The pattern has {len(of_pattern)} {what}, but the replacement has {len(of_replacement)}")


def _install_constants(gm: GraphModule) -> None:
    """Give ``gm`` the constants that came with replacements, unless it already has an attribute of that name."""
    for name, value in gm.graph.constants.items():
        if not _has_attr(gm, name):
            _assign_attr(value, gm, name)


def _replace_attributes(gm: GraphModule, replacement: torch.nn.Module) -> None:
    """Copy to ``gm`` the attributes that new nodes refer to, and delete the submodules that no node refers to."""
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
    """The attribute with the qualified name ``target``, or None if there is none."""
    path, _, name = target.rpartition(".")
    try:
        return getattr(module.get_submodule(path), name, None)
    except AttributeError:
        return None
