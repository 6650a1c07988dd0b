"""Find every occurrence of a small pattern graph in a graph.

The matcher tries the pattern's sinks (its *anchors*) on the nodes of the graph. From there it walks both graphs
together, from nodes to their arguments. Every step in that direction is determined, because a node's arguments are
ordered, whereas its users are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from fxcore.graph import Graph
from fxcore.node import Node
from fxcore.nodes.attribute_paths import _get_attr
from fxcore.passes.topology import validate_partition
from fxcore.torch_compat import FunctionSchema, OpOverload, schemas_of

__all__ = ["InternalMatch", "SubgraphMatcher"]

# Pairs of arguments of the pattern and of the graph that remain to be matched; the last pair is matched next.
_Pairs = list[tuple[Any, Any]]


@dataclass
class InternalMatch:
    """One occurrence of a pattern.

    Attributes:
        anchors: The pattern's anchors.
        nodes_map: Maps each matched node of the pattern to what it matched: a node of the graph, or, for a
            placeholder, possibly a literal.
        placeholder_nodes: What the pattern's placeholders matched, in their order.
        returning_nodes: The nodes that match what the pattern returns, in that order.
        name_node_map: Matched nodes by name; only ``SubgraphMatcherWithNameNodeMap`` fills it.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


@dataclass(eq=False)
class SubgraphMatcher:
    """Finds the occurrences of one pattern in graphs.

    The constructor raises ``ValueError`` for an empty pattern, and ``AssertionError`` for a pattern with an operation
    whose result isn't used.

    Attributes:
        pattern: What to look for. Its parts should be connected.
        match_output: Whether the pattern's output node must match the output node of the graph.
        match_placeholder: Whether a placeholder matches only placeholders; by default, it matches anything.
        remove_overlapping_matches: Whether to return only the first of matches that share a node.
        ignore_literals: Whether a literal in the pattern matches anything.
    """

    pattern: Graph
    match_output: bool = False
    match_placeholder: bool = False
    remove_overlapping_matches: bool = True
    ignore_literals: bool = False

    def __post_init__(self) -> None:
        nodes = list(self.pattern.nodes)
        if not nodes:
            raise ValueError("The pattern is empty")
        for node in nodes:
            if node.op != "output" and not node.users and not node.is_impure():
                raise AssertionError(f"The pattern computes {node} but does not use it")
        self.pattern_placeholder_nodes = [node for node in nodes if node.op == "placeholder"]
        output = nodes[-1]
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = (
            [output] if self.match_output else [node for node in output.all_input_nodes if len(node.users) == 1]
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Find the pattern in a graph.

        The nodes of a match have no users outside it, except placeholders and what the pattern returns; and replacing a
        match with one node would leave the graph acyclic. Each anchor is tried on every node that is still
        possible, given the nodes matched so far. The time taken is therefore linear in the size of the graph for a
        connected pattern; in the worst case, it is exponential in the number of anchors.

        Args:
            graph: The graph to search, in topological order.
            node_name_match: A string; an anchor also matches every node whose name contains it.

        Returns:
            The matches, ordered by the node that matches the first anchor, then the second, and so on.
        """
        order = {node: position for position, node in enumerate(graph.nodes)}
        found = []
        for match in self._matches(_Candidates(self, order, node_name_match)):
            if self._is_contained(match.nodes_map) and validate_partition(self._operations(match), order):
                found.append(match)
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found

    def _matches(self, candidates: _Candidates) -> Iterator[InternalMatch]:
        """Every way to match all anchors, found by backtracking."""
        anchors = self.pattern_anchors

        def place(index: int, placed: _Placement) -> Iterator[InternalMatch]:
            if index == len(anchors):
                yield self._internal_match(placed.nodes_map)
                return
            for node in candidates.given(anchors[index], placed.nodes_map):
                attempt = placed.copy()
                if self._match_nodes(anchors[index], node, attempt, candidates.node_name_match):
                    yield from place(index + 1, attempt)

        if anchors and all(map(candidates.of, anchors)):
            yield from place(0, _Placement())

    def _internal_match(self, nodes_map: dict[Node, Any]) -> InternalMatch:
        return InternalMatch(
            self.pattern_anchors,
            nodes_map,
            placeholder_nodes=[nodes_map[node] for node in self.pattern_placeholder_nodes],
            returning_nodes=[nodes_map[node] for node in self.pattern_returning_nodes],
        )

    def _match_nodes(self, pn: Node, gn: Node, placed: _Placement, node_name_match: str = "") -> bool:
        """Match a node of the pattern and all that it depends on; ``placed`` grows even if this fails."""
        pending = self._match_node(pn, gn, placed, node_name_match)
        while pending:
            further = self._match_argument(*pending.pop(), placed)
            if further is None:
                return False
            pending += further
        return pending is not None

    def _match_node(self, pn: Node, gn: Node, placed: _Placement, node_name_match: str = "") -> _Pairs | None:
        """Match one node; return the pairs of arguments to match next, or None if the node doesn't match."""
        if pn in placed.nodes_map:
            return [] if placed.nodes_map[pn] is gn else None
        if gn in placed.taken or not self._nodes_are_equal(pn, gn, node_name_match):
            return None
        placed.put(pn, gn)
        return [] if pn.op == "placeholder" else _pairs_of_arguments(pn, gn)

    def _match_argument(self, pattern_arg: Any, graph_arg: Any, placed: _Placement) -> _Pairs | None:
        """Match two arguments; return the pairs to match next, or None if the arguments don't match."""
        if isinstance(pattern_arg, Node) and isinstance(graph_arg, Node):
            return self._match_node(pattern_arg, graph_arg, placed)
        if isinstance(pattern_arg, list | tuple) and isinstance(graph_arg, list | tuple):
            return _pairs(pattern_arg, graph_arg)
        return [] if self._match_literals(pattern_arg, graph_arg, placed) or self.ignore_literals else None

    def _match_literals(self, pn: Any, gn: Any, placed: _Placement) -> bool:
        """Match two arguments that aren't both nodes: equal literals, or a placeholder and a literal."""
        if isinstance(gn, Node):
            return False
        if not isinstance(pn, Node):
            return type(gn) is type(pn) and bool(gn == pn)
        if pn.op != "placeholder":
            return False
        if pn in placed.nodes_map:
            return bool(placed.nodes_map[pn] == gn)
        placed.put(pn, gn)
        return True

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        """Whether a node of the pattern does the same as a node of the graph, whatever their arguments."""
        if pn.op == "placeholder" and not self.match_placeholder:
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        return pn.op in ("placeholder", "output") or pn.target == gn.target

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Whether two ``get_attr`` nodes read values of the same type; only tensors can be matched.

        Raises:
            RuntimeError: Both read values of the same type that aren't tensors.
        """
        value, other = _attribute(pn), _attribute(gn)
        if type(value) is not type(other):
            return False
        if not isinstance(value, torch.Tensor):
            raise RuntimeError(f"Only tensors can be matched as attributes, not {value!r}")
        return True

    def _is_contained(self, nodes_map: Mapping[Node, Node]) -> bool:
        """Whether only what the pattern returns is used outside the match."""
        inside = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        returned = set(self.pattern_returning_nodes)
        return all(pn in returned or all(user in inside for user in gn.users) for gn, pn in inside.items())

    def _remove_overlapping_matches(self, matches: Iterable[InternalMatch]) -> list[InternalMatch]:
        """The matches that share no operation with an earlier match that is kept."""
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            nodes = self._operations(match)
            if taken.isdisjoint(nodes):
                taken.update(nodes)
                kept.append(match)
        return kept

    def _operations(self, match: InternalMatch) -> list[Node]:
        """The graph nodes that make up a match, except the match's inputs and the output node."""
        return [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")]


class _Placement:
    """A partial match.

    Attributes:
        nodes_map: What each node of the pattern has matched so far.
        taken: The nodes of the graph that have been matched.
    """

    def __init__(self) -> None:
        self.nodes_map: dict[Node, Any] = {}
        self.taken: set[Node] = set()

    def put(self, pattern_node: Node, value: Any) -> None:
        """Record that ``value``, a node or a literal, matches ``pattern_node``."""
        self.nodes_map[pattern_node] = value
        if isinstance(value, Node):
            self.taken.add(value)

    def copy(self) -> _Placement:
        """An independent copy."""
        new = _Placement()
        new.nodes_map.update(self.nodes_map)
        new.taken.update(self.taken)
        return new


class _Candidates:
    """The nodes of a graph on which a matcher tries its anchors."""

    def __init__(self, matcher: SubgraphMatcher, order: Mapping[Node, int], node_name_match: str) -> None:
        self.node_name_match = node_name_match
        self._matcher = matcher
        self._order = order
        self._by_anchor: dict[Node, list[Node]] = {}

    def of(self, anchor: Node) -> list[Node]:
        """The nodes that do the same as ``anchor``, in the order of the graph."""
        if anchor not in self._by_anchor:
            self._by_anchor[anchor] = [node for node in self._order if self._equal(anchor, node, anchor)]
        return self._by_anchor[anchor]

    def given(self, anchor: Node, nodes_map: Mapping[Node, Node]) -> list[Node]:
        """The candidates that a partial match leaves possible, in the order of the graph.

        If a path in the pattern leads from an already matched node to ``anchor``, a path with the same steps must lead
        to the candidate in the graph. With ``ignore_literals``, a step may be missing in the graph, so all candidates
        are possible.
        """
        route = None if self._matcher.ignore_literals else _route_to(anchor, nodes_map)
        if route is None:
            return self.of(anchor)
        start, *steps = route
        reached = {nodes_map[start]}
        for step in steps:
            reached = {user for node in reached for user in node.users if self._equal(step, user, anchor)}
        return sorted(reached, key=self._order.__getitem__)

    def _equal(self, pattern_node: Node, node: Node, anchor: Node) -> bool:
        """Whether two nodes do the same; only for an anchor, a matching name suffices."""
        name = self.node_name_match if pattern_node is anchor else ""
        return self._matcher._nodes_are_equal(pattern_node, node, name)


def _route_to(anchor: Node, nodes_map: Mapping[Node, Node]) -> list[Node] | None:
    """A path in the pattern from an already matched node to ``anchor``, or None if there is none.

    It starts at an operation if possible, because a placeholder may match a node with many users in the graph.
    """
    behind: dict[Node, Node] = {}
    queue = [anchor]
    starts = []
    for node in queue:
        if isinstance(nodes_map.get(node), Node):
            starts.append(node)
            continue
        for used in node.all_input_nodes:
            if used not in behind:
                behind[used] = node
                queue.append(used)
    if not starts:
        return None
    route = [min(starts, key=lambda node: node.op == "placeholder")]
    while route[-1] is not anchor:
        route.append(behind[route[-1]])
    return route


def _pairs_of_arguments(pn: Node, gn: Node) -> _Pairs | None:
    """The corresponding arguments of two nodes in pairs; None if they can't be paired.

    Calls to an operator with a schema may pass the same argument by position, by name, or by default.
    """
    if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
        return _pairs([*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()])
    schemas = schemas_of(pn.target) if isinstance(pn.target, OpOverload) else None
    return _pairs(_by_schema(pn, schemas[0]), _by_schema(gn, schemas[0])) if schemas else None


def _pairs(pattern_args: Sequence[Any], graph_args: Sequence[Any]) -> _Pairs | None:
    """The corresponding items of two sequences in pairs, the first pair last; None if their lengths differ."""
    if len(pattern_args) != len(graph_args):
        return None
    return list(zip(reversed(pattern_args), reversed(graph_args), strict=True))


def _by_schema(node: Node, schema: FunctionSchema) -> list[Any]:
    """The arguments of a call in the order of the operator's schema, defaults included."""
    arguments: list[Any] = []
    for index, parameter in enumerate(schema.arguments):
        if parameter.name in node.kwargs:
            arguments.append(node.kwargs[parameter.name])
        elif index < len(node.args) and not parameter.kwarg_only:
            arguments.append(node.args[index])
        else:
            arguments.append(parameter.default_value)
    return arguments


def _attribute(node: Node) -> Any:
    """The value that a ``get_attr`` node reads from the module that owns its graph, or from the graph's constants.

    Raises:
        AssertionError: No module owns the graph, and the target isn't one of its constants.
        AttributeError: The module has no such attribute.
    """
    target = cast(str, node.target)
    owner = node.graph.owning_module
    if owner is not None:
        return _get_attr(owner, target)
    if target not in node.graph.constants:
        raise AssertionError(f"The graph that reads {target} has no owning module")
    return node.graph.constants[target]
