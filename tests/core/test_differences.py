"""Where fxcore differs from torch.fx on purpose: what both do, and that ``docs/fxcore.md`` names a test for each."""

from __future__ import annotations

import logging
import pickle
import random
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import torch.fx
import torch.fx._symbolic_trace
import torch.fx.passes.infra.partitioner
import torch.fx.passes.operator_support
import torch.fx.passes.utils.matcher_utils
import torch.fx.traceback
from torch import Tensor, nn

import fxcore
import fxcore.passes.infra.partitioner
import fxcore.passes.operator_support
import fxcore.passes.utils.matcher_utils
from fxcore.failures import FailureKind, TraceFailure
from fxcore.passes.topology import partitions_are_acyclic

from .passes.models import random_graph

ROOT = Path(__file__).parents[2]
LIBRARIES: list[Any] = [fxcore, torch.fx]
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_difference_names_a_test_that_exists() -> None:
    section = (ROOT / "docs" / "fxcore.md").read_text().partition("## Differences on purpose")[2].partition("\n## ")[0]
    entries = [line for line in section.splitlines() if line.startswith("- ")]
    assert entries
    for entry in section.split("\n- ")[1:]:
        references = REFERENCE.findall(entry)
        assert references, entry
        for file, name in references:
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE), (file, name)


class Adding(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ones(2)


def test_the_module_is_not_written_to() -> None:
    written = []
    for fx in LIBRARIES:
        module = Adding()
        before = set(vars(module))
        traced = fx.symbolic_trace(module)
        assert traced._tensor_constant0.shape == (2,)
        written.append(set(vars(module)) - before)
    assert written == [set(), {"_tensor_constant0"}]


def iterating(x: Tensor) -> Tensor:
    for row in torch.relu(x):
        x = x + row
    return x


def test_failures_are_typed_and_placed() -> None:
    with pytest.raises(torch.fx.proxy.TraceError):
        torch.fx.symbolic_trace(iterating)
    with pytest.raises(fxcore.proxy.TraceError) as caught:
        fxcore.symbolic_trace(iterating)
    failure = caught.value
    assert isinstance(failure, TraceFailure)
    assert failure.kind is FailureKind.ITERATION
    assert failure.span is not None
    line = Path(__file__).read_text().splitlines()[failure.span.line - 1]
    if sys.version_info >= (3, 11):
        assert line[failure.span.col : failure.span.end_col] == "torch.relu(x)"


def matches(fx: Any) -> Any:
    def pattern(x: Any) -> Any:
        return torch.relu(x), torch.sigmoid(x)

    def program(x: Any) -> Any:
        return torch.relu(x) + 1

    pattern_graph, graph = (fx.symbolic_trace(each).graph for each in (pattern, program))
    return fx.passes.utils.matcher_utils.SubgraphMatcher(pattern_graph).match(graph)


def test_a_pattern_with_an_anchor_that_nothing_matches() -> None:
    assert matches(fxcore) == []
    with pytest.raises(KeyError):
        matches(torch.fx)


def test_asking_whether_it_traces_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert not fxcore._symbolic_trace.is_fx_tracing()
    assert caplog.messages == []


def half_done(fx: Any) -> bool:
    """Whether replacing one value with two, which can't be done, has left its traces in the graph."""
    module = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    before = len(module.graph.nodes)
    with pytest.raises(AssertionError):
        fx.replace_pattern(module, lambda x: torch.relu(x), lambda x: (x - 1, x + 1))
    return len(module.graph.nodes) != before


def test_a_replacement_that_does_not_fit_changes_nothing() -> None:
    assert [half_done(fx) for fx in LIBRARIES] == [False, True]


def proposed_partitions(fx: Any) -> bool:
    """Whether the partitions that are proposed for a graph can run one after the other."""
    traced = random_graph(fx, seed=112, size=60)
    rng = random.Random(112)
    share = rng.choice([0.3, 0.6, 0.9])
    names = {node.name for node in traced.graph.nodes if node.op == "call_function" and rng.random() < share}
    support = fx.passes.operator_support.create_op_support(lambda submodules, node: node.name in names)
    partitioner = fx.passes.infra.partitioner.CapabilityBasedPartitioner(
        traced, support, allows_single_node_partition=True, skip_horizontal_fusion=True
    )
    groups = [list(each.nodes) for each in partitioner.propose_partitions()]
    assert len(groups) > 1
    return bool(partitions_are_acyclic(groups, traced.graph.nodes))


@pytest.mark.skipif(
    not torch.__version__.startswith("2.13."), reason="other versions of torch propose other partitions"
)
def test_partitions_never_use_each_other_in_a_circle() -> None:
    assert [proposed_partitions(fx) for fx in LIBRARIES] == [True, False]


def in_another_thread(function: Callable[[], Any]) -> Any:
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_preserving_meta_holds_in_its_thread_alone() -> None:
    for fx in LIBRARIES:
        with fx.traceback.preserve_node_meta():
            assert in_another_thread(fx.traceback.has_preserved_node_meta) == (fx is torch.fx)


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Adding()
        self.inner.register_backward_hook(lambda *_: None)

    def forward(self, x: Any) -> Any:
        return self.inner(x) * 2


class TooManyNodes(Exception):
    pass


def counting(fx: Any, most: int) -> Any:
    """A tracer that gives up after ``most`` nodes."""

    class Counting(fx.Tracer):  # type: ignore[misc]
        def create_node(self, *args: Any, **kwargs: Any) -> Any:
            if len(self.graph.nodes) > most:
                raise TooManyNodes
            return super().create_node(*args, **kwargs)

    return Counting()


def test_a_search_for_a_tensor_without_end_is_a_failure() -> None:
    with pytest.raises(TraceFailure) as failed:
        counting(fxcore, 1000).trace(Hooked())
    assert (failed.value.kind, failed.value.operation) == (FailureKind.ITERATION, "backward-hook")
    with pytest.raises(TooManyNodes):
        counting(torch.fx, 1000).trace(Hooked())


@pytest.mark.skipif(numpy.__version__ < "2", reason="earlier versions write numbers as Python does")
def test_code_with_numbers_of_numpy_runs() -> None:
    def scaled(x: Any) -> Any:
        return x / numpy.sqrt(64)

    own, theirs = (fx.symbolic_trace(scaled) for fx in LIBRARIES)
    assert own.code == theirs.code
    assert torch.equal(own(torch.ones(2)), torch.ones(2) / 8)
    assert torch.equal(pickle.loads(pickle.dumps(own))(torch.ones(2)), torch.ones(2) / 8)
    with pytest.raises(NameError):
        theirs(torch.ones(2))
    named = fxcore.symbolic_trace(lambda np: np / numpy.sqrt(64))
    assert torch.equal(named(torch.ones(2)), torch.ones(2) / 8)
