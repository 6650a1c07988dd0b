"""Find every place of a graph where a small pattern graph occurs.

The pattern's sinks (its *anchors*) are tried on the nodes of the graph; from there both graphs are walked together
against the flow of data, where every step is determined: a node has many users but its arguments are in order.
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

# Arguments of the pattern and of the graph that are still to be matched; the last pair is the next.
_Pairs = list[tuple[Any, Any]]


@dataclass
class InternalMatch:
    """One occurrence of a pattern.

    Attributes:
        anchors: The pattern's anchors.
        nodes_map: Each matched node of the pattern, and what it matched: a node of the graph, or, for a placeholder,
            a literal.
        placeholder_nodes: What the pattern's placeholders matched, in their order.
        returning_nodes: The nodes that match what the pattern returns, in that order.
        name_node_map: Matched nodes by name; filled by ``SubgraphMatcherWithNameNodeMap`` alone.
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

    Making one raises ``ValueError`` for an empty pattern, and ``AssertionError`` for one that computes what it does
    not use.

    Attributes:
        pattern: What to look for. Its parts should be connected.
        match_output: Whether the pattern's output node must match the output node of the graph.
        match_placeholder: Whether a placeholder matches placeholders only; by default it matches anything.
        remove_overlapping_matches: Whether, of matches that share a node, only the first is returned.
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

        Nodes of a match are used by nodes of that match alone, except placeholders and what the pattern returns; and
        replacing a match by one node would leave the graph acyclic. Each anchor is tried on every node that an already
        matched part of the pattern leaves possible, so the time is linear in the graph for a connected pattern; in
        the worst case it is exponential in the number of anchors.

        Args:
            graph: Where to look; in topological order.
            node_name_match: A text that makes an anchor match every node whose name contains it.

        Returns:
            The matches, in the order of the nodes that match the first anchor, then the second, and so on.
        """
        order = {node: position for position, node in enumerate(graph.nodes)}
        found = []
        for match in self._matches(_Candidates(self, order, node_name_match)):
            if self._is_contained(match.nodes_map) and validate_partition(self._operations(match), order):
                found.append(match)
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found

    def _matches(self, candidates: _Candidates) -> Iterator[InternalMatch]:
        """Every way to place all anchors, as a search with backtracking."""
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
        """Match a node of the pattern and all it is computed from; ``placed`` grows, also where this fails."""
        pending = self._match_node(pn, gn, placed, node_name_match)
        while pending:
            further = self._match_argument(*pending.pop(), placed)
            if further is None:
                return False
            pending += further
        return pending is not None

    def _match_node(self, pn: Node, gn: Node, placed: _Placement, node_name_match: str = "") -> _Pairs | None:
        """Match one node; the pairs of arguments that are to be matched then, or None where it fails."""
        if pn in placed.nodes_map:
            return [] if placed.nodes_map[pn] is gn else None
        if gn in placed.taken or not self._nodes_are_equal(pn, gn, node_name_match):
            return None
        placed.put(pn, gn)
        return [] if pn.op == "placeholder" else _pairs_of_arguments(pn, gn)

    def _match_argument(self, pattern_arg: Any, graph_arg: Any, placed: _Placement) -> _Pairs | None:
        """Match two arguments; the pairs that are to be matched then, or None where it fails."""
        if isinstance(pattern_arg, Node) and isinstance(graph_arg, Node):
            return self._match_node(pattern_arg, graph_arg, placed)
        if isinstance(pattern_arg, list | tuple) and isinstance(graph_arg, list | tuple):
            return _pairs(pattern_arg, graph_arg)
        return [] if self._match_literals(pattern_arg, graph_arg, placed) or self.ignore_literals else None

    def _match_literals(self, pn: Any, gn: Any, placed: _Placement) -> bool:
        """Match two arguments of which at most one is a node: equal literals, or a placeholder and a literal."""
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
            RuntimeError: Both read something of the same type that is no tensor.
        """
        value, other = _attribute(pn), _attribute(gn)
        if type(value) is not type(other):
            return False
        if not isinstance(value, torch.Tensor):
            raise RuntimeError(f"Only tensors can be matched as attributes, not {value!r}")
        return True

    def _is_contained(self, nodes_map: Mapping[Node, Node]) -> bool:
        """Whether only what the pattern returns is used outside of the match."""
        inside = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        returned = set(self.pattern_returning_nodes)
        return all(pn in returned or all(user in inside for user in gn.users) for gn, pn in inside.items())

    def _remove_overlapping_matches(self, matches: Iterable[InternalMatch]) -> list[InternalMatch]:
        """The matches that share no operation with one that is kept before them."""
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            nodes = self._operations(match)
            if taken.isdisjoint(nodes):
                taken.update(nodes)
                kept.append(match)
        return kept

    def _operations(self, match: InternalMatch) -> list[Node]:
        """The nodes of the graph that a match consists of: without its inputs and the output node."""
        return [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")]


class _Placement:
    """A match in the making.

    Attributes:
        nodes_map: What each node of the pattern has matched so far.
        taken: The nodes of the graph among that.
    """

    def __init__(self) -> None:
        self.nodes_map: dict[Node, Any] = {}
        self.taken: set[Node] = set()

    def put(self, pattern_node: Node, value: Any) -> None:
        """Note that ``value``, a node or a literal, matches ``pattern_node``."""
        self.nodes_map[pattern_node] = value
        if isinstance(value, Node):
            self.taken.add(value)

    def copy(self) -> _Placement:
        """Another one that grows by itself."""
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
        """The nodes that do what ``anchor`` does, in the order of the graph."""
        if anchor not in self._by_anchor:
            self._by_anchor[anchor] = [node for node in self._order if self._equal(anchor, node, anchor)]
        return self._by_anchor[anchor]

    def given(self, anchor: Node, nodes_map: Mapping[Node, Node]) -> list[Node]:
        """The candidates that a partial match leaves possible, in the order of the graph.

        Where the pattern leads from an already matched node to ``anchor``, the graph must lead in the same steps from
        what it matched to the candidate. Literals that are ignored may hide a step, so then there is no short cut.
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
        """Whether the two do the same; only an anchor may be matched by its name."""
        name = self.node_name_match if pattern_node is anchor else ""
        return self._matcher._nodes_are_equal(pattern_node, node, name)


def _route_to(anchor: Node, nodes_map: Mapping[Node, Node]) -> list[Node] | None:
    """A way through the pattern from an already matched node to ``anchor``, or None.

    It starts at an operation if it can, since a placeholder may stand for something that all of the graph uses.
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
    """The arguments of two nodes that belong together; None where they don't fit.

    Calls of an operator with a schema may give the same argument by position, by name, or by default.
    """
    if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
        return _pairs([*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()])
    schemas = schemas_of(pn.target) if isinstance(pn.target, OpOverload) else None
    return _pairs(_by_schema(pn, schemas[0]), _by_schema(gn, schemas[0])) if schemas else None


def _pairs(pattern_args: Sequence[Any], graph_args: Sequence[Any]) -> _Pairs | None:
    """The items of two sequences that belong together, the first pair last; None if one is longer."""
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
    """The value that a ``get_attr`` node reads from the module that owns its graph, or finds among its constants.

    Raises:
        AssertionError: No module owns the graph, and it is no constant.
        AttributeError: The module has no such attribute.
    """
    target = cast(str, node.target)
    owner = node.graph.owning_module
    if owner is not None:
        return _get_attr(owner, target)
    if target not in node.graph.constants:
        raise AssertionError(f"The graph that reads {target} has no owning module")
    return node.graph.constants[target]
