"""Computes what common layers and functions return for tensors on the meta device, without torch's kernels.

torch can also compute these results, but many of its kernels for the meta device are written in Python and take 0.1 to
10 milliseconds each. For a whole model, they would take several times as long as tracing the model.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Kept here because ``torch.empty`` may be replaced while a program is explored.
_empty = torch.empty

Rule = Callable[..., Tensor | None]
"""Takes a function's arguments, or a layer and its arguments; returns the result, or None if the rule doesn't apply."""


def known_result(callee: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """What a function of torch's or a layer (a module) returns for tensors on the meta device; None if no rule applies.

    A result with the shape and dtype of an argument may be that argument itself, because meta tensors have no content.
    """
    layer = (callee,) if isinstance(callee, nn.Module) else ()
    rule = _RULES.get(type(callee) if layer else callee)
    if rule is None or kwargs.keys() & {"dtype", "out"} or any(isinstance(arg, torch.dtype) for arg in args):
        return None
    try:
        result = rule(*layer, *args, **kwargs)
    except (AttributeError, IndexError, TypeError, ValueError):  # an unusual call: torch raises if it is wrong
        return None
    return result if all(arg.is_meta for arg in args if isinstance(arg, Tensor)) else None


def _like_input(input: Tensor, *args: Any, **kwargs: Any) -> Tensor | None:
    return input if input.is_floating_point() else None


def _layer_like_input(layer: nn.Module, input: Tensor) -> Tensor | None:
    return _like_input(input)


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor | None:
    return _with_last(input, weight.shape[1], weight.shape[0])


def _linear_layer(layer: Any, input: Tensor) -> Tensor | None:
    return _with_last(input, layer.in_features, layer.out_features)


def _with_last(input: Tensor, expected: int, size: int) -> Tensor | None:
    return _sized(input, (*input.shape[:-1], size)) if input.shape[-1] == expected else None


def _convolution(layer: Any, input: Tensor) -> Tensor | None:
    channels_at = input.dim() - 1 - len(layer.kernel_size)
    if isinstance(layer.padding, str) or channels_at not in (0, 1) or input.shape[channels_at] != layer.in_channels:
        return None
    windows = zip(layer.kernel_size, layer.stride, layer.padding, layer.dilation, strict=True)
    sides = [
        (side + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        for side, (kernel, stride, padding, dilation) in zip(input.shape[channels_at + 1 :], windows, strict=True)
    ]
    return _sized(input, (*input.shape[:channels_at], layer.out_channels, *sides)) if min(sides) > 0 else None


def _attention(query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return _sized(query, (*query.shape[:-1], value.shape[-1]))


def _grid_sample(input: Tensor, grid: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return _sized(input, (*input.shape[:2], *grid.shape[1:-1]))


def _interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    sides = input.shape[2:]
    if size is None:
        factors = [scale_factor] * len(sides) if isinstance(scale_factor, int | float) else scale_factor
        size = [int(side * factor) for side, factor in zip(sides, factors, strict=True)]
    return _sized(input, (*input.shape[:2], *([size] * len(sides) if isinstance(size, int) else size)))


def _concatenation(tensors: Sequence[Tensor], dim: int = 0) -> Tensor | None:
    first, *rest = tensors
    dim %= first.dim()
    fitting = (first.dtype, *first.shape[:dim], *first.shape[dim + 1 :])
    for tensor in rest:
        if not tensor.is_meta or (tensor.dtype, *tensor.shape[:dim], *tensor.shape[dim + 1 :]) != fitting:
            return None
    size = sum(tensor.shape[dim] for tensor in tensors)
    return _sized(first, (*first.shape[:dim], size, *first.shape[dim + 1 :])) if first.is_meta else None


def _reduction(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor | None:
    if not input.is_floating_point():
        return None
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    reduced = [at % input.dim() for at in dims]
    kept = [1 if at in reduced else size for at, size in enumerate(input.shape) if keepdim or at not in reduced]
    return _sized(input, kept)


def _power(base: Tensor, exponent: int | float) -> Tensor | None:
    return _like_input(base) if isinstance(exponent, int | float) else None


def _arithmetic(left: Any, right: Any) -> Tensor | None:
    tensor, other = (left, right) if isinstance(left, Tensor) else (right, left)
    if not tensor.is_floating_point():
        return None
    if type(other) in (int, float):
        return tensor
    if not isinstance(other, Tensor) or other.dtype is not tensor.dtype:
        return None
    return _sized(tensor, _broadcast(tensor.shape, other.shape))


def _comparison(left: Any, right: Any) -> Tensor | None:
    shapes = [side.shape for side in (left, right) if isinstance(side, Tensor)]
    return _empty(_broadcast(shapes[0], shapes[-1]), dtype=torch.bool, device="meta") if shapes else None


def _sized(like: Tensor, shape: Sequence[int]) -> Tensor:
    return like if like.shape == shape else _empty(shape, dtype=like.dtype, device="meta")


def _broadcast(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """The shape to which two shapes are broadcast. Raises ValueError if they can't be broadcast together."""
    pairs = itertools.zip_longest(reversed(left), reversed(right), fillvalue=1)
    sizes = [b if a == 1 else a for a, b in pairs if a == b or 1 in (a, b)]
    if len(sizes) != max(len(left), len(right)):
        raise ValueError(f"the shapes {tuple(left)} and {tuple(right)} can't be broadcast together")
    return tuple(reversed(sizes))


# fmt: off
_LIKE_INPUT = (
    F.batch_norm, F.dropout, F.gelu, F.group_norm, F.hardsigmoid, F.hardswish, F.instance_norm, F.layer_norm,
    F.log_softmax, F.mish, F.normalize, F.relu, F.relu6, F.rms_norm, F.sigmoid, F.silu, F.softmax, F.softplus, F.tanh,
    operator.neg, torch.batch_norm, torch.clamp, torch.layer_norm, torch.relu, torch.rsqrt, torch.sigmoid,
    torch.softmax, torch.tanh, Tensor.clamp, Tensor.contiguous, Tensor.relu, Tensor.sigmoid, Tensor.softmax,
    Tensor.tanh,
)
_LAYERS_LIKE_INPUT = (
    nn.BatchNorm1d, nn.BatchNorm2d, nn.Dropout, nn.Dropout2d, nn.GELU, nn.GroupNorm, nn.Hardsigmoid, nn.Hardswish,
    nn.Identity, nn.InstanceNorm2d, nn.LayerNorm, nn.Mish, nn.ReLU, nn.ReLU6, nn.Sigmoid, nn.SiLU, nn.Softmax, nn.Tanh,
)
# fmt: on

_RULES: dict[Callable[..., Any], Rule] = {
    **dict.fromkeys(_LIKE_INPUT, _like_input),
    **dict.fromkeys(_LAYERS_LIKE_INPUT, _layer_like_input),
    **dict.fromkeys((operator.add, operator.mul, operator.sub, operator.truediv), _arithmetic),
    **dict.fromkeys((operator.eq, operator.ge, operator.gt, operator.le, operator.lt, operator.ne), _comparison),
    **dict.fromkeys((torch.cat, torch.concat), _concatenation),
    **dict.fromkeys((torch.mean, torch.sum, Tensor.mean, Tensor.sum), _reduction),
    **dict.fromkeys((torch.pow, operator.pow, Tensor.pow), _power),
    **dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d), _convolution),
    F.grid_sample: _grid_sample,
    F.interpolate: _interpolate,
    F.linear: _linear,
    F.scaled_dot_product_attention: _attention,
    nn.Linear: _linear_layer,
}
