"""CSEPass leaves out what torch.fx's does, and nothing that only looks the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.dialect.common.cse_pass as theirs
from torch import nn

import fxcore
import fxcore.passes.dialect.common.cse_pass as ours
from fxcore.passes.infra.pass_manager import PassManager
from tests.core.oracle import assert_same_graph, assert_same_values

from .models import random_graph

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


def repeated(x: Any, y: Any) -> Any:
    a = torch.cat([x, y]) * 2
    b = torch.cat([x, y]) * 2
    c = torch.cat((x, y)) * 2
    d = torch.add(x, y, alpha=2) + torch.add(x, y, alpha=2) + torch.add(x, y, alpha=3)
    return a + b + c, d, x.relu() + x.relu()


def random_numbers(x: Any) -> Any:
    aten = torch.ops.aten
    return aten.rand_like.default(x) + aten.rand_like.default(x), aten.add_.Tensor(x, x) + aten.add_.Tensor(x, x)


def different(x: Any) -> Any:
    return x + 1, x + 2, x.relu()


@pytest.mark.parametrize("program", [repeated, random_numbers, different])
@pytest.mark.parametrize("banned", [False, True])
def test_common_subexpressions_are_merged_as_in_torch_fx(program: Any, banned: bool) -> None:
    results = []
    for fx, module in LIBRARIES:
        traced = fx.symbolic_trace(program)
        result = module.CSEPass(module.get_CSE_banned_ops() if banned else None)(traced)
        assert (result.graph_module is traced) == (not result.modified)
        results.append(result)
    assert results[0].modified == results[1].modified
    assert_same_graph(results[0].graph_module, results[1].graph_module)


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    mine, reference = [module.CSEPass()(random_graph(fx, seed, 40)) for fx, module in LIBRARIES]
    assert mine.modified == reference.modified
    assert_same_graph(mine.graph_module, reference.graph_module)


def test_banned_operators() -> None:
    assert ours.get_CSE_banned_ops() == theirs.get_CSE_banned_ops()


def test_equal_numbers_of_different_types_stay_apart() -> None:
    def program(x: Any) -> Any:
        return x * 2, x * 2.0, torch.full_like(x, 0.0), torch.full_like(x, -0.0), x * 2, x[0:1], x[0:1]

    traced = fxcore.symbolic_trace(program)
    result: Any = ours.CSEPass()(traced)
    assert result.modified
    assert len(traced.graph.nodes) - len(result.graph_module.graph.nodes) == 2
    x = torch.arange(3)
    assert_same_values(result.graph_module(x), traced(x))


def test_pytrees_and_the_pass_manager() -> None:
    def program(pair: Any) -> Any:
        return {"sum": torch.relu(pair[0]) + torch.relu(pair[0]) + pair[1]}

    traced = fxcore.symbolic_trace(program, {"pair": (fxcore.PH, fxcore.PH)})
    result = PassManager([ours.CSEPass()], steps=3)(traced)
    assert result.modified
    values = (torch.ones(2), torch.zeros(2))
    assert_same_values(result.graph_module(values), program(values))


def test_modules_are_shared_with_the_old_one() -> None:
    traced = fxcore.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    with traced.graph.inserting_before(traced.graph.output_node()):
        again = traced.graph.call_module("0", (next(iter(traced.graph.nodes)),))
    traced.graph.output_node().args = ((traced.graph.output_node().args[0], again),)
    traced.recompile()
    result = ours.CSEPass()(traced)
    assert result is not None
    assert result.graph_module.get_submodule("0") is traced.get_submodule("0")
    first, second = result.graph_module(torch.ones(1, 2))
    assert first is second
