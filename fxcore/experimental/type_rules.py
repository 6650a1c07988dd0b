"""Rules for operations on tensors.

An inference rule gives the type of an operation's result and checks the operands' types. A refinement rule gives the
dimensions of operands and result that must be the same.

Source: the results are those of ``torch.fx.experimental.graph_gradual_typechecker``.
"""

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import nn

from fxcore.experimental.refinement_types import Equality
from fxcore.experimental.unification import Var
from fxcore.node import Node
from fxcore.tensor_type import Dyn, TensorType, is_consistent, is_more_precise

_Rule = TypeVar("_Rule", bound=Callable[..., Any])

_INFERENCE_RULES: dict[Any, Callable[..., Any]] = {}


_REFINEMENT_RULES: dict[Any, Callable[[Node], list[Equality]]] = {}


def _register(rules: dict[Any, Any], kind: str, call_target: Any) -> Callable[[_Rule], _Rule]:
    def register(rule: _Rule) -> _Rule:
        if call_target in rules:
            raise RuntimeError(f"{kind} rule already registered for {call_target}!")
        rules[call_target] = rule
        return rule

    return register


def register_inference_rule(call_target: Any) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the inference rule for a function or a class of modules.

    The rule sets the node's type and returns it. It is called with the node; for a class of modules also with the
    module that the node calls, and for ``getattr`` also with the graph module.

    Raises:
        RuntimeError: there already is a rule for ``call_target``.
    """
    return _register(_INFERENCE_RULES, "Inference", call_target)


def register_refinement_rule(call_target: Any) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the refinement rule for a function or a class of modules.

    The rule is called with the node, and returns the equalities between its dimensions and those of its operands.

    Raises:
        RuntimeError: there already is a rule for ``call_target``.
    """
    return _register(_REFINEMENT_RULES, "Refinement", call_target)


def operand(n: Node, index: int = 0) -> Node:
    """The argument of ``n`` at an index. Raises AssertionError if it isn't a node."""
    argument = n.args[index]
    if not isinstance(argument, Node):
        raise AssertionError(f"argument {index} of {n} must be a node, not {argument!r}")
    return argument


def _typed(n: Node, result: Any) -> Any:
    n.type = result
    return result


def expand_to_tensor_dim(t: Any, n: int) -> TensorType:
    """``t`` as the type of a tensor with ``n`` dimensions. Raises TypeError if it can't have that many dimensions."""
    if t == Dyn:
        return TensorType((Dyn,) * n)
    if not isinstance(t, TensorType):
        raise TypeError(f"Cannot match the type {t}")
    if len(t.dims) != n:
        raise TypeError(f"Cannot extend tensor. Tensor {t} has rank {len(t.dims)}. It should have rank {n}")
    return t


def broadcast_types(t1: Any, t2: Any) -> tuple[Any, Any]:
    """Both tensor types after broadcasting; unchanged if one of them is unknown.

    Otherwise, raises TypeError unless both are tensor types.
    """
    if any(t == Dyn or isinstance(t, Var) for t in (t1, t2)):
        return t1, t2
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        raise TypeError(f"Cannot broadcast types {t1} and {t2}")
    rank = max(len(t1.dims), len(t2.dims))
    dims1, dims2 = ([1] * (rank - len(t.dims)) + list(t.dims) for t in (t1, t2))
    wide1 = [y if x == 1 else x for x, y in zip(dims1, dims2, strict=True)]
    wide2 = [x if y == 1 else y for x, y in zip(dims1, dims2, strict=True)]
    return TensorType(tuple(wide1)), TensorType(tuple(wide2))


def get_greatest_upper_bound(type1: Any, type2: Any) -> Any:
    """The type that is as precise as both combined. Raises TypeError if they contradict each other."""
    if type1 == Dyn:
        return type2
    if type2 == Dyn:
        return type1
    if not isinstance(type1, TensorType) or not isinstance(type2, TensorType) or not is_consistent(type1, type2):
        raise TypeError(f"Inconsistent types {type1}, {type2}")
    pairs = zip(type1.dims, type2.dims, strict=True)
    return TensorType(tuple(d1 if is_more_precise(d1, d2) else d2 for d1, d2 in pairs))


@register_inference_rule(torch.add)
@register_inference_rule(operator.add)
def add_inference_rule(n: Node) -> Any:
    """Addition, with broadcasting: the result's type is the less precise of the operands' types.

    Raises:
        TypeError: the operands' types contradict each other.
    """
    left, right = operand(n, 0), operand(n, 1)
    if int in (left.type, right.type):
        other = right.type if left.type is int else left.type
        if isinstance(other, TensorType):
            return _typed(n, other)
    wide1, wide2 = broadcast_types(left.type, right.type)
    n.meta["broadcast"] = bool(wide1 != left.type or wide2 != right.type)
    if n.meta["broadcast"]:
        n.meta[str(left)], n.meta[str(right)] = wide1, wide2
    if not is_consistent(wide1, wide2):
        raise TypeError(f"Cannot add {left} ({left.type}) and {right} ({right.type}) in node {n}")
    return _typed(n, wide2 if is_more_precise(wide1, wide2) else wide1)


@register_inference_rule(getattr)
def get_attr_inference_rule(n: Node, traced: Any) -> Any:
    """Reading ``shape``, whose value has an unknown type. Raises TypeError for other attributes."""
    if n.args[1] != "shape":
        raise TypeError(f"the type of the attribute {n.args[1]} is unknown")
    return _typed(n, Dyn)


@register_inference_rule(torch.transpose)
def transpose_inference_rule(n: Node) -> Any:
    """Exchanging two dimensions. Raises TypeError if the operand has no such dimensions."""
    t = operand(n).type
    dim1, dim2 = n.args[1], n.args[2]
    if t == Dyn:
        return _typed(n, Dyn)
    if not isinstance(t, TensorType) or not (0 <= dim1 < len(t.dims) and 0 <= dim2 < len(t.dims)):
        raise TypeError(f"Cannot transpose {dim1} and {dim2} in type {t} for node {n}")
    dims = list(t.dims)
    dims[dim1], dims[dim2] = dims[dim2], dims[dim1]
    return _typed(n, get_greatest_upper_bound(n.type, TensorType(tuple(dims))))


@register_inference_rule(torch.reshape)
def reshape_inference_rule(n: Node) -> TensorType:
    """Reshaping. Raises TypeError if no values of unknown dimensions make the numbers of elements equal."""
    t, shape = operand(n).type, n.args[1]
    result = TensorType([Dyn if dim == -1 else dim for dim in shape])
    if t != Dyn:
        if not isinstance(t, TensorType):
            raise TypeError(f"Cannot reshape in node {n} from {t} to {result}")
        before = math.prod(dim for dim in t.dims if dim != Dyn)
        after = math.prod(shape)
        if before % after != 0 and after % before != 0:
            raise TypeError(f"Cannot reshape in node {n} from {t} to {result}")
    n.type = result
    return result


@register_inference_rule(nn.BatchNorm2d)
def bn2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """Batch norm: the operand and the result have the same four dimensions; the second is the number of features.

    Raises:
        TypeError: the operand's type, or the type that the node already has, contradicts this.
    """
    argument = operand(n)
    argument.type = expand_to_tensor_dim(argument.type, 4)
    n.type = expand_to_tensor_dim(n.type, 4)
    features = module_instance.num_features
    if not is_consistent(argument.type.dims[1], features) or not is_consistent(n.type.dims[1], features):
        raise TypeError(f"Cannot apply {module_instance} to {argument.type} for type {n.type} on {n}")
    return _typed(n, get_greatest_upper_bound(argument.type, n.type))


def _pair(value: Any) -> Any:
    return (value, value) if isinstance(value, int) else value


def calculate_out_dimension(d_in: Any, module_instance: Any, index: int) -> Any:
    """The height (``index`` 0) or width (1) after a convolution or pooling of ``d_in``, which is an int or Dyn.

    Raises:
        TypeError: ``d_in`` is something else.
    """
    if d_in == Dyn:
        return Dyn
    if not isinstance(d_in, int):
        raise TypeError(f"{d_in} in {module_instance} must be a number or Dyn. Received {type(d_in)}")
    padding, kernel, stride, dilation = (
        _pair(getattr(module_instance, name))[index] for name in ("padding", "kernel_size", "stride", "dilation")
    )
    return (d_in + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _windows(t: TensorType, module: Any) -> tuple[Any, Any]:
    """The height and width after a convolution or pooling over the last two dimensions."""
    return calculate_out_dimension(t.dims[-2], module, 0), calculate_out_dimension(t.dims[-1], module, 1)


@register_inference_rule(nn.Conv2d)
def conv2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """Convolution of a four-dimensional tensor. Raises TypeError if the channels or the node's known type don't fit."""
    argument = operand(n)
    argument.type = expand_to_tensor_dim(argument.type, 4)
    expected = expand_to_tensor_dim(n.type, 4)
    if not is_consistent(argument.type.dims[1], module_instance.in_channels):
        raise TypeError(f"Cannot apply {module_instance} to {argument.type} for type {n.type} on {n}")
    windows = _windows(argument.type, module_instance)
    result = TensorType((argument.type.dims[0], module_instance.out_channels, *windows))
    return _typed(n, get_greatest_upper_bound(result, expected))


def _infer(n: Node, result: Callable[[TensorType], TensorType]) -> Any:
    """Combine ``result(operand's type)`` with the type that the node already has; return the node's type."""
    argument = operand(n)
    if argument.type == Dyn and isinstance(n.type, TensorType):
        argument.type = expand_to_tensor_dim(argument.type, len(n.type.dims))
    if isinstance(argument.type, TensorType):
        n.type = get_greatest_upper_bound(result(argument.type), n.type)
    return n.type


@register_inference_rule(nn.ReLU)
def relu_inference_rule(n: Node, module_instance: Any) -> Any:
    """ReLU: the result has the operand's type."""
    return _infer(n, lambda t: t)


def maxpool2d_check(typ: TensorType, module_instance: Any) -> TensorType:
    """The type after pooling. Raises TypeError unless there are three or four dimensions."""
    if len(typ.dims) not in (3, 4):
        raise TypeError(f"Wrong size {typ} for {module_instance}")
    return TensorType((*typ.dims[:-2], *_windows(typ, module_instance)))


@register_inference_rule(nn.MaxPool2d)
def maxpool2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """Max pooling: `maxpool2d_check` gives the result's type."""
    return _infer(n, lambda t: maxpool2d_check(t, module_instance))


def linear_check(tensor_type: TensorType, module_instance: Any) -> TensorType:
    """The type after a linear layer. Raises TypeError for fewer than two dimensions, or if the last doesn't fit."""
    if len(tensor_type.dims) < 2:
        raise TypeError(f"Type {tensor_type} must have rank 2 or more.")
    if not is_consistent(module_instance.in_features, tensor_type.dims[-1]):
        features = f"{module_instance.in_features} and {tensor_type.dims[-1]}"
        raise TypeError(f"Inconsistent {features} in {module_instance}")
    return TensorType((*tensor_type.dims[:-1], module_instance.out_features))


@register_inference_rule(nn.Linear)
def linear_inference_rule(n: Node, module_instance: Any) -> Any:
    """A linear layer: `linear_check` gives the result's type."""
    return _infer(n, lambda t: linear_check(t, module_instance))


def adaptiveavgpool2d_check(tensor_type: TensorType, module_instance: Any) -> TensorType:
    """The type after adaptive pooling. Raises TypeError unless there are three or four dimensions."""
    if len(tensor_type.dims) not in (3, 4):
        raise TypeError(f"Tensor ranks must be 3 or 4. Got {tensor_type}")
    sizes = zip(_pair(module_instance.output_size), tensor_type.dims[-2:], strict=True)
    return TensorType((*tensor_type.dims[:-2], *(given if wanted is None else wanted for wanted, given in sizes)))


@register_inference_rule(nn.AdaptiveAvgPool2d)
def adaptiveavgpool2d_inference_rule(n: Node, module_instance: Any) -> Any:
    """Adaptive pooling: `adaptiveavgpool2d_check` gives the result's type."""
    return _infer(n, lambda t: adaptiveavgpool2d_check(t, module_instance))


def flatten_range(n: Node) -> tuple[int, int]:
    """The first and the last dimension that a call to ``torch.flatten`` flattens, as they were given."""
    start_dim = n.args[1] if len(n.args) > 1 else 1
    return start_dim, n.args[2] if len(n.args) > 2 else -1


def flatten_check(tensor_type: TensorType, start_dim: int, end_dim: int) -> TensorType:
    """The type after flattening. Raises TypeError if there are no such dimensions."""
    rank = len(tensor_type.dims)
    start = rank if start_dim == -1 else abs(start_dim)
    stop = rank + end_dim + 1 if end_dim < 0 else end_dim + 1
    if not (0 <= start < stop <= rank):
        raise TypeError(f"Incompatible dimensions {start}, {stop - 1} in type {tensor_type}")
    dims = list(tensor_type.dims)
    flat = dims[start:stop]
    return TensorType((*dims[:start], Dyn if Dyn in flat else math.prod(flat), *dims[stop:]))


@register_inference_rule(torch.flatten)
def flatten_inference_rule(n: Node) -> Any:
    """Flattening: `flatten_check` gives the result's type."""
    return _infer(n, lambda t: flatten_check(t, *flatten_range(n)))


def _equal(lefts: Iterable[Any], rights: Iterable[Any]) -> list[Equality]:
    return [Equality(left, right) for left, right in zip(lefts, rights, strict=False)]


def _first_equal(n: Node, count: int | None) -> list[Equality]:
    """The equality of the first ``count`` dimensions of the operand and the result; of all if ``count`` is None."""
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
    """A dimension that is the same in both operands after broadcasting is the same in the result."""
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
