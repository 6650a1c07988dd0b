"""ShapeProp records what torch.fx's does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.shape_prop as theirs
from torch import nn

import fxcore
import fxcore.passes.shape_prop as ours
from fxcore.torch_compat import FakeTensorMode

from .models import Branches, image, plain, resnet

pytestmark = pytest.mark.usefixtures("first_format")


def quantized(scheme: str) -> torch.Tensor:
    values = torch.randn(2, 3)
    if scheme == "tensor":
        return torch.quantize_per_tensor(values, 0.1, 3, torch.quint8)
    return torch.quantize_per_channel(values, torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8)


TENSORS = {
    "scalar": torch.tensor(1),
    "matrix": torch.ones(2, 3, requires_grad=True),
    "transposed": torch.ones(2, 3).t(),
    "expanded": torch.ones(1, 3).expand(2, 3),
    "empty": torch.ones(0, 3, 2, 2),
    "channels last": torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "both formats": torch.ones(2, 1, 4, 5),
    "one pixel": torch.ones(2, 3, 1, 1).permute(0, 2, 3, 1),
    "channels last 3d": torch.ones(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d),
    "permuted": torch.ones(2, 3, 4, 5).permute(3, 1, 0, 2),
    "meta": torch.ones(2, 3, device="meta", dtype=torch.bfloat16),
    "coordinates": torch.eye(3).to_sparse(),
    "compressed columns": torch.eye(3).to_sparse_csc(),
    "quantized by tensor": quantized("tensor"),
    "quantized by channel": quantized("channel"),
}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("include_contiguity", [True, False])
def test_metadata(name: str, include_contiguity: bool) -> None:
    mine = ours._extract_tensor_metadata(TENSORS[name], include_contiguity)
    reference = theirs._extract_tensor_metadata(TENSORS[name], include_contiguity)
    assert mine._asdict() == reference._asdict()


def recorded(graph: Any) -> list[tuple[str, Any, Any]]:
    return [(node.name, plain(node.meta.get("tensor_meta")), node.meta["type"].__name__) for node in graph.nodes]


MODELS: dict[str, tuple[Any, torch.Tensor]] = {
    "branches": (Branches, image()),
    "resnet18": (resnet, torch.ones(1, 3, 64, 64)),
    "nothing but numbers": (lambda: lambda x: x.size(0) + 1, torch.ones(2)),
    "dict": (lambda: lambda x: {"a": [x, x.shape], "b": (x.t(), None)}, torch.ones(2, 3)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fake", [None, "given", "active"])
def test_propagate(name: str, fake: str | None) -> None:
    make, value = MODELS[name]
    root = make()
    mine, reference = fxcore.symbolic_trace(root), torch.fx.symbolic_trace(root)
    results = []
    for module, traced in ((ours, mine), (theirs, reference)):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        if fake == "active":
            with mode:
                results.append(module.ShapeProp(traced).propagate(value))
        else:
            results.append(module.ShapeProp(traced, mode if fake else None).propagate(value))
    assert recorded(mine.graph) == recorded(reference.graph)
    assert str(plain(results[0])).replace("FakeTensor", "") == str(plain(results[1])).replace("FakeTensor", "")
    if isinstance(root, nn.Module):
        assert all(type(parameter) is nn.Parameter for parameter in mine.parameters())


def test_an_error_says_which_node() -> None:
    traced = fxcore.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 3)))
    with pytest.raises(RuntimeError, match="%_1 :") as caught:
        ours.ShapeProp(traced).propagate(torch.ones(1, 2))
    assert isinstance(caught.value.__cause__, RuntimeError)
