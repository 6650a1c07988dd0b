"""Which dimensions of an operation's operands and result are the same.

Source: the results are those of ``torch.fx.experimental.graph_gradual_typechecker``.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import nn

from fxcore.experimental.refinement_types import Equality
from fxcore.experimental.type_inference_rules import broadcast_types, flatten_range, operand
from fxcore.node import Node
from fxcore.tensor_type import TensorType

__all__ = [
    "all_eq",
    "conv_refinement_rule",
    "element_wise_eq",
    "first_two_eq",
    "flatten_refinement_rule",
    "linear_refinement_rule",
    "register_refinement_rule",
]

_Rule = TypeVar("_Rule", bound=Callable[..., Any])

_REFINEMENT_RULES: dict[Any, Callable[[Node], list[Equality]]] = {}


def register_refinement_rule(call_target: Any) -> Callable[[_Rule], _Rule]:
    """Make a function of a node the rule for a function or a class of modules.

    Raises:
        RuntimeError: there is a rule for it already.
    """

    def register(rule: _Rule) -> _Rule:
        if call_target in _REFINEMENT_RULES:
            raise RuntimeError(f"Refinement rule already registered for {call_target}!")
        _REFINEMENT_RULES[call_target] = rule
        return rule

    return register


def _equal(lefts: Iterable[Any], rights: Iterable[Any]) -> list[Equality]:
    return [Equality(left, right) for left, right in zip(lefts, rights, strict=False)]


def _first_equal(n: Node, count: int | None) -> list[Equality]:
    """The first dimensions of the operand and the result are the same; with None all of them."""
    before, after = operand(n).type, n.type
    if not isinstance(before, TensorType) or not isinstance(after, TensorType):
        return []
    return _equal(before.dims[:count], after.dims[:count])


@register_refinement_rule(nn.Conv2d)
def conv_refinement_rule(n: Node) -> list[Equality]:
    """A convolution keeps the first dimension."""
    return _first_equal(n, 1)


@register_refinement_rule(nn.Linear)
def linear_refinement_rule(n: Node) -> list[Equality]:
    """A linear layer keeps the first dimension."""
    return _first_equal(n, 1)


@register_refinement_rule(nn.BatchNorm2d)
@register_refinement_rule(nn.ReLU)
def all_eq(n: Node) -> list[Equality]:
    """Norms and activations keep all dimensions."""
    return _first_equal(n, None)


@register_refinement_rule(nn.AdaptiveAvgPool2d)
@register_refinement_rule(nn.MaxPool2d)
def first_two_eq(n: Node) -> list[Equality]:
    """Pooling keeps the first two dimensions."""
    return _first_equal(n, 2)


@register_refinement_rule(torch.add)
@register_refinement_rule(operator.add)
def element_wise_eq(n: Node) -> list[Equality]:
    """Where both operands have one dimension, broadcast, the result has it, too."""
    types = [used.type for used in n.args if isinstance(used, Node)]
    if len(types) != 2 or not all(isinstance(each, TensorType) for each in (*types, n.type)):
        return []
    wide1, wide2 = broadcast_types(*types)
    dims = zip(wide1.dims, wide2.dims, n.type.dims, strict=False)
    return [Equality(left, result) for left, right, result in dims if left == right]


@register_refinement_rule(torch.flatten)
def flatten_refinement_rule(n: Node) -> list[Equality]:
    """Flattening keeps the dimensions before and after the flattened ones."""
    before, after = operand(n).type, n.type
    if not isinstance(before, TensorType) or not isinstance(after, TensorType):
        return []
    start, end = flatten_range(n)
    rank = len(after.dims)
    start = rank if start == -1 else start
    stop = rank + end + 1 if end < 0 else end + 1
    return _equal(after.dims[:start], before.dims[:start]) + _equal(after.dims[stop:], before.dims[stop:])
