"""FakeTensorProp records what torch.fx's does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.fake_tensor_prop as theirs
from torch.utils import _pytree as pytree

import fxcore
import fxcore.passes.fake_tensor_prop as ours
from fxcore.torch_compat import FakeTensorMode, is_fake_tensor

from .models import Branches, image, plain, resnet


def described(value: Any) -> Any:
    """A structure with its tensors as text."""

    def describe(item: Any) -> Any:
        if not isinstance(item, torch.Tensor):
            return item
        return is_fake_tensor(item), item.dtype, tuple(item.shape), item.stride(), item.device

    return pytree.tree_map(describe, plain(value))


def numbers(x: torch.Tensor) -> Any:
    return x.size(0) * 2, x.shape, x.dtype, {"view": x.view(-1)}


MODELS: dict[str, tuple[Any, torch.Tensor]] = {
    "branches": (Branches, image()),
    "resnet18": (resnet, torch.ones(1, 3, 64, 64)),
    "numbers": (lambda: numbers, torch.ones(2, 3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_propagate(name: str) -> None:
    make, value = MODELS[name]
    root = make()
    traced, reference = fxcore.symbolic_trace(root), torch.fx.symbolic_trace(root)
    modes = [FakeTensorMode(allow_non_fake_inputs=True) for _ in range(2)]
    mine = ours.FakeTensorProp(traced, modes[0]).propagate(value)
    their_result = theirs.FakeTensorProp(reference, modes[1]).propagate(value)
    assert described(mine) == described(their_result)
    for node, other in zip(traced.graph.nodes, reference.graph.nodes, strict=True):
        assert ("val" in node.meta) == ("val" in other.meta)
        assert described(node.meta.get("val")) == described(other.meta.get("val"))


def test_recorded_tensors_share_memory_as_the_real_ones_do() -> None:
    traced = fxcore.symbolic_trace(lambda x: x.view(-1) + x.clone().view(-1))
    ours.FakeTensorProp(traced).propagate(torch.ones(2, 3))
    storage = {node.name: node.meta["val"].untyped_storage()._cdata for node in traced.graph.nodes}
    assert storage["view"] == storage["x"]
    assert storage["view_1"] == storage["clone"] != storage["x"]


def test_later_changes_in_place_are_not_recorded() -> None:
    traced = fxcore.symbolic_trace(lambda x: x.clone().unsqueeze_(0))
    ours.FakeTensorProp(traced).propagate(torch.ones(2, 3))
    shapes = {node.name: tuple(node.meta["val"].shape) for node in traced.graph.nodes}
    assert shapes["clone"] == (2, 3)
    assert shapes["unsqueeze_"] == (1, 2, 3)


def test_a_given_mode_and_fake_inputs() -> None:
    mode = FakeTensorMode()
    value = mode.from_tensor(torch.ones(2, 3))
    result = ours.FakeTensorProp(fxcore.symbolic_trace(lambda x: x.t()), mode).propagate_dont_convert_inputs(value)
    assert result.fake_mode is mode
    assert tuple(result.shape) == (3, 2)


@pytest.mark.skipif(not hasattr(torch.ops.higher_order, "invoke_subgraph"), reason="an operator of newer versions")
def test_a_subgraph_that_is_called_twice() -> None:
    inner = fxcore.symbolic_trace(lambda x, y: (torch.relu(x) + y,))
    graph = fxcore.Graph()
    x, subgraph = graph.placeholder("x"), graph.create_node("get_attr", "inner")
    calls = [graph.call_function(torch.ops.higher_order.invoke_subgraph, (subgraph, "a", x, x)) for _ in range(2)]
    graph.output(tuple(calls))
    ours.FakeTensorProp(fxcore.GraphModule({"inner": inner}, graph)).propagate(torch.ones(2, 3))
    assert all(tuple(call.meta["val"][0].shape) == (2, 3) for call in calls)
    assert all("val" in node.meta for node in inner.graph.nodes)
