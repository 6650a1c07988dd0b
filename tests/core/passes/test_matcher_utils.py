"""Matchers find what torch.fx's find; replace_pattern's tests cover their defaults."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.utils.matcher_utils as theirs
import torch.fx.passes.utils.matcher_with_name_node_map_utils as their_names
from torch import nn

import fxcore
import fxcore.passes.utils.matcher_utils as ours
import fxcore.passes.utils.matcher_with_name_node_map_utils as our_names
from tests.core.code_text import code_of
from tests.core.oracle import attempt

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


def program(x: Any, y: Any) -> Any:
    a = torch.relu(x) + y
    b = torch.relu(a) + y
    c = torch.relu(torch.relu(b))
    return torch.relu(c) + torch.clamp(c, 0.0, 6.0)


def whole(x: Any, y: Any) -> Any:
    return program(x, y)


def clamped(x: Any) -> Any:
    return torch.clamp(x, 0.0, 1.0)


PATTERNS: dict[str, Any] = {
    "relu": lambda x: torch.relu(x),
    "relu and add": lambda x, y: torch.relu(x) + y,
    "two relus": lambda x: torch.relu(torch.relu(x)),
    "add of two": lambda x: torch.relu(x) + torch.relu(x),
    "whole": whole,
    "clamp": clamped,
    "three steps": lambda x, y: torch.relu(torch.relu(x + y)),
}
FLAGS = ["match_output", "match_placeholder", "remove_overlapping_matches", "ignore_literals"]


def described(matches: Any) -> Any:
    return [
        (
            [node.name for node in match.anchors],
            {node.name: str(found) for node, found in match.nodes_map.items()},
            [str(node) for node in match.placeholder_nodes],
            [str(node) for node in match.returning_nodes],
        )
        for match in matches
    ]


@pytest.mark.parametrize("options", range(16))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_option_of_matching_does_what_it_does_in_torch_fx(pattern: str, options: int) -> None:
    flags = {name: bool(options & 1 << bit) for bit, name in enumerate(FLAGS)}
    results = []
    for fx, module in LIBRARIES:
        matcher = module.SubgraphMatcher(fx.symbolic_trace(PATTERNS[pattern]).graph, **flags)
        found = attempt(lambda: matcher.match(fx.symbolic_trace(program).graph))  # noqa: B023
        results.append(type(found) if isinstance(found, Exception) else described(found))
    assert results[0] == results[1]


def overloads(fx: Any, *calls: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """A graph of calls to an operator with a schema."""
    graph = fx.Graph()
    value = graph.placeholder("x")
    for args, kwargs in calls:
        value = graph.call_function(torch.ops.aten.add.Tensor, (value, value, *args), kwargs)
    graph.output(value)
    return graph


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((), {}), ((), {"alpha": 1}), ((), {"alpha": 2})]


@pytest.mark.parametrize("pattern", CALLS, ids=str)
@pytest.mark.parametrize("ignore_literals", [False, True])
def test_defaults_of_operators(pattern: Any, ignore_literals: bool) -> None:
    mine, reference = [
        described(
            module.SubgraphMatcher(overloads(fx, pattern), ignore_literals=ignore_literals).match(
                overloads(fx, *CALLS, *CALLS)
            )
        )
        for fx, module in LIBRARIES
    ]
    assert mine == reference
    assert mine


class Attributes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x: Any) -> Any:
        return x * self.weight + (x * self.shift)


@pytest.mark.parametrize("kind", ["weight", "shift"])
def test_attributes(kind: str) -> None:
    results = []
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(Attributes())
        pattern = fx.Graph()
        x = pattern.placeholder("x")
        pattern.output(pattern.call_function(torch.mul, (x, pattern.create_node("get_attr", kind))))
        owner = fx.GraphModule(Attributes(), pattern)
        for node in traced.graph.nodes:
            if node.name.startswith("mul"):
                node.target = torch.mul
        results.append(described(module.SubgraphMatcher(owner.graph).match(traced.graph)))
    assert results[0] == results[1]
    assert len(results[0]) == 1


def test_patterns_that_cannot_be_matched() -> None:
    for fx, module in LIBRARIES:
        with pytest.raises(ValueError, match="empty"):
            module.SubgraphMatcher(fx.Graph())
        dead = fx.symbolic_trace(lambda x: (torch.neg(x), torch.relu(x))[1])
        with pytest.raises(AssertionError):
            module.SubgraphMatcher(dead.graph)


def named(x: Any, y: Any) -> Any:
    relu = torch.relu(x)
    total = relu + y
    return total, {"relu": relu, "add": total, "input": y}


def test_names() -> None:
    matcher = our_names.SubgraphMatcherWithNameNodeMap(fxcore.symbolic_trace(named))
    found = [
        {name: node.name for name, node in match.name_node_map.items()}
        for match in matcher.match(fxcore.symbolic_trace(program).graph)
    ]
    assert found == [
        {"relu": "relu", "add": "add", "input": "y"},
        {"relu": "relu_1", "add": "add_1", "input": "y"},
        {"relu": "relu_4", "add": "add_2", "input": "clamp"},
    ]


def pair_named(pair: Any) -> Any:
    relu = torch.relu(pair[0])
    total = relu + pair[1]
    return total, {"relu": relu, "add": total}


def test_names_of_patterns_with_pytrees() -> None:
    results = []
    for fx, module in ((fxcore, our_names), (torch.fx, their_names)):
        pattern = fx.symbolic_trace(pair_named, {"pair": (fx.PH, fx.PH)})
        matcher = module.SubgraphMatcherWithNameNodeMap(pattern, False, False, remove_overlapping_matches=False)
        matches = matcher.match(fx.symbolic_trace(program).graph)
        results.append([{name: str(node) for name, node in match.name_node_map.items()} for match in matches])
    assert results[0] == results[1]
    assert len(results[0]) == 3


def test_the_names_are_taken_from_the_pattern() -> None:
    split = []
    for fx, module in ((fxcore, our_names), (torch.fx, their_names)):
        pattern, found = module._split_to_graph_and_name_node_map(
            fx.symbolic_trace(pair_named, {"pair": (fx.PH, fx.PH)})
        )
        split.append((code_of(pattern), {name: str(node) for name, node in found.items()}))
    assert split[0] == split[1]


def test_a_pattern_without_names() -> None:
    with pytest.raises(AssertionError):
        our_names.SubgraphMatcherWithNameNodeMap(fxcore.symbolic_trace(PATTERNS["relu"]))
