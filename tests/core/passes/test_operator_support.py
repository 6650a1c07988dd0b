"""Operator supports answer as torch.fx's do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.operator_support as theirs
import torch.fx.passes.shape_prop

import fxcore
import fxcore.passes.operator_support as ours
import fxcore.passes.shape_prop

from .models import Branches, image

TABLES: dict[str, Any] = {
    "empty": {},
    "any dtypes": {"torch.nn.modules.conv.Conv2d": None, "torch.sigmoid": None, "sum": None},
    "positions": {"_operator.mul": ([[torch.float32], [torch.float32]], {}), "torch.cat": ([None], {})},
    "second position": {"_operator.mul": ([None, [torch.int64]], {}), "_operator.add": ([[torch.int64]], {})},
    "names": {"torch.cat": ((), {"tensors": [torch.float32]}), "torch.chunk": (([torch.float32],), {"dim": [None]})},
    "too many": {"torch.sigmoid": ([[torch.float32]] * 3, {"out": [torch.int8]})},
}


def answers(fx: Any, make: Any) -> list[bool]:
    """Whether each node of a traced model is supported."""
    traced = fx.symbolic_trace(Branches())
    fx.passes.shape_prop.ShapeProp(traced).propagate(image())
    support = make(fx.passes.operator_support)
    submodules = dict(traced.named_modules())
    return [support.is_node_supported(submodules, node) for node in traced.graph.nodes]


@pytest.mark.parametrize("table", TABLES)
def test_a_support_table_answers_as_in_torch_fx(table: str) -> None:
    mine, reference = [answers(fx, lambda module: module.OperatorSupport(TABLES[table])) for fx in (fxcore, torch.fx)]
    assert mine == reference


def combined(module: Any) -> Any:
    calls_function = module.create_op_support(lambda submodules, node: node.op == "call_function")
    calls_module = module.create_op_support(lambda submodules, node: node.target in submodules)
    not_mul = module.OpSupports.decline_if_node_in_names({"mul", "block_0"})
    return module.any_chain(module.chain(calls_function, not_mul), module.chain(not_mul, calls_module))


def test_combinations() -> None:
    mine, reference = answers(fxcore, combined), answers(torch.fx, combined)
    assert mine == reference
    assert set(mine) == {True, False}


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, int, tuple], ids=str)
def test_declined_inputs(dtype: Any) -> None:
    def make(module: Any) -> Any:
        return module.OpSupports.decline_if_input_dtype(dtype)

    mine, reference = answers(fxcore, make), answers(torch.fx, make)
    assert mine == reference
    assert (False in mine) == (dtype is not torch.int64)


def test_nothing_recorded() -> None:
    for module, fx in ((ours, fxcore), (theirs, torch.fx)):
        node = list(fx.symbolic_trace(torch.nn.ReLU()).graph.nodes)[-1]
        with pytest.raises(KeyError):
            module.OpSupports.decline_if_input_dtype(torch.float32).is_node_supported({}, node)
