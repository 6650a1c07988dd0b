"""Rules for shapes against torch's own kernels for the device meta."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fxcore.explore.shape_rules import known_result


def meta(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


IMAGE = meta(2, 4, 9, 7)
Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
TOLD: dict[str, Call] = {
    "conv1d": (nn.Conv1d(4, 6, 3, stride=2), (meta(2, 4, 9),), {}),
    "conv2d": (nn.Conv2d(4, 6, (3, 2), (1, 2), padding=(2, 1), dilation=(2, 1), groups=2), (IMAGE,), {}),
    "conv2d, one image": (nn.Conv2d(4, 6, 3), (IMAGE[0],), {}),
    "conv3d": (nn.Conv3d(4, 6, 2), (meta(2, 4, 5, 5, 5),), {}),
    "linear layer": (nn.Linear(7, 5), (IMAGE,), {}),
    "batch normalization layer": (nn.BatchNorm2d(4), (IMAGE,), {}),
    "softmax layer": (nn.Softmax(1), (IMAGE,), {}),
    "relu": (F.relu, (IMAGE,), {}),
    "relu in place": (F.relu, (IMAGE, True), {}),
    "softmax": (torch.softmax, (IMAGE, 1), {}),
    "softmax, method": (torch.Tensor.softmax, (IMAGE,), {"dim": -1}),
    "batch_norm": (F.batch_norm, (IMAGE, None, None, None, None, True), {}),
    "layer_norm": (F.layer_norm, (IMAGE, (7,)), {}),
    "linear": (F.linear, (IMAGE, meta(5, 7), meta(5)), {}),
    "attention": (F.scaled_dot_product_attention, (meta(2, 3, 4, 8), meta(2, 3, 5, 8), meta(2, 3, 5, 6)), {}),
    "grid_sample": (F.grid_sample, (IMAGE, meta(2, 5, 6, 2)), {"align_corners": True}),
    "interpolate to a size": (F.interpolate, (IMAGE, (3, 4)), {"mode": "nearest"}),
    "interpolate to one side": (F.interpolate, (IMAGE,), {"size": 5}),
    "interpolate by a factor": (F.interpolate, (IMAGE,), {"scale_factor": 1.5, "mode": "bilinear"}),
    "interpolate by factors": (F.interpolate, (IMAGE,), {"scale_factor": (2, 0.5)}),
    "cat": (torch.cat, ([IMAGE, IMAGE, IMAGE], 1), {}),
    "cat, last": (torch.cat, ((IMAGE, meta(2, 4, 9, 1)),), {"dim": -1}),
    "mean of all": (torch.mean, (IMAGE,), {}),
    "mean of one": (torch.Tensor.mean, (IMAGE, 1), {}),
    "mean, kept": (torch.Tensor.mean, (IMAGE, (2, 3)), {"keepdim": True}),
    "power": (operator.pow, (IMAGE, 2), {}),
    "broadcast": (operator.add, (IMAGE, meta(9, 1)), {}),
    "added to a number": (operator.sub, (1, IMAGE), {}),
    "compared": (operator.gt, (IMAGE, meta(7)), {}),
    "compared to a number": (operator.eq, (IMAGE, 0), {}),
}
UNTOLD: dict[str, Call] = {
    "convolution that keeps the size": (nn.Conv2d(4, 6, 3, padding="same"), (IMAGE,), {}),
    "softmax as another type": (torch.softmax, (IMAGE, 1, torch.float64), {}),
    "softmax of numbers as another type": (F.softmax, (IMAGE,), {"dim": 1, "dtype": torch.float64}),
    "sigmoid of integers": (torch.sigmoid, (meta(3, dtype=torch.long),), {}),
    "cat of two types": (torch.cat, ([IMAGE, IMAGE.long()],), {}),
    "mean as another type": (torch.Tensor.mean, (IMAGE, 1), {"dtype": torch.float64}),
    "sum of integers": (torch.sum, (meta(3, dtype=torch.int32),), {}),
    "power of a number": (operator.pow, (2, IMAGE), {}),
    "added to a complex number": (operator.add, (IMAGE, 1j), {}),
    "of two types": (operator.mul, (IMAGE, meta(7, dtype=torch.float64)), {}),
    "division of integers": (operator.truediv, (meta(3, dtype=torch.long), 2), {}),
    "no tensors": (operator.lt, (1, 2), {}),
    "out": (torch.cat, ([IMAGE, IMAGE],), {"out": meta(4, 4, 9, 7)}),
    "on the CPU": (operator.add, (torch.ones(2), torch.ones(2)), {}),
    "linear, wrong size": (F.linear, (IMAGE, meta(5, 8)), {}),
    "linear layer, wrong size": (nn.Linear(8, 5), (IMAGE,), {}),
    "convolution, wrong channels": (nn.Conv2d(3, 6, 3), (IMAGE,), {}),
    "convolution larger than the image": (nn.Conv2d(4, 6, 8), (IMAGE,), {}),
    "sizes that don't fit": (operator.add, (IMAGE, meta(5)), {}),
    "cat of sizes that don't fit": (torch.cat, ([IMAGE, meta(2, 4, 9, 6)],), {}),
    "a function without a rule": (torch.flip, (IMAGE, (1,)), {}),
    "a layer without a rule": (nn.ConvTranspose2d(4, 6, 3), (IMAGE,), {}),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told_is_what_torch_says(name: str) -> None:
    callee, args, kwargs = TOLD[name]
    told = known_result(callee, args, kwargs)
    true = (callee.to("meta") if isinstance(callee, nn.Module) else callee)(*args, **kwargs)
    assert told is not None
    assert (told.shape, told.dtype, told.device) == (true.shape, true.dtype, true.device)


@pytest.mark.parametrize("name", UNTOLD)
def test_the_rest_is_left_to_torch(name: str) -> None:
    assert known_result(*UNTOLD[name]) is None
