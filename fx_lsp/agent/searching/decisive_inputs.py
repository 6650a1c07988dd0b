"""Inputs and weights with which a program may decide in another way: with the numbers that it compares values with."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

import torch

from fx_lsp.agent.frame_code import names_used, tree_of
from fx_lsp.agent.running.observation import Input, forward_of, modules_of
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.running.weight_changes import WeightChange, can_change
from fx_lsp.agent.searching.input_variations import sized_like_weights

MOST_NUMBERS = 12
"""How many of the numbers that a program compares something with are tried."""

LARGEST = 10_000_000
"""The largest such number: a program may use it as a size."""

MARGIN = 0.1
"""By how much, relative to it, values with a fraction are chosen beside such a number."""

FACTORS = (1e-3, 1e3, 1e-6, 1e6)
"""What all inputs with a fraction are multiplied by: a norm, or a change, may be small or large."""

WEIGHTS = (-1.0, 10.0, 0.1, -10.0)
"""What all weights are multiplied by. Not zero: with weights of zero, different programs may do the same."""

SHIFTS = (10.0, -10.0)
"""What is added to one weight, such as a bias."""

MOST_SHIFTED = 8
"""How many weights are changed alone, the smallest of all."""


def decisive_inputs(first: Input, root: Callable[..., Any], fixed: Collection[str] = ()) -> Iterator[Input]:
    """``first`` with other values and sizes, and with other weights of ``root``, the likeliest first.

    Parameters in ``fixed`` that it leaves out stay left out.
    """
    numbers = compared_numbers(root)
    yield from sized_like_weights(first, root)
    yield from filter(None, (_mapped(first, partial(_times, factor)) for factor in FACTORS))
    yield from _with_compared_options(first, root, fixed, numbers)
    turns = itertools.zip_longest(_with_other_weights(first, root, numbers), _with_numbers(first, numbers))
    yield from filter(None, itertools.chain.from_iterable(turns))


def compared_numbers(root: Callable[..., Any]) -> list[float]:
    """The numbers with which ``root``, and what it calls in the same file, compares something, and 0 and 1.

    They are in the text, or in attributes of the modules.
    """
    found: list[float] = [0, 1]
    own = [module for module in modules_of(root) if not type(module).__module__.startswith("torch.")]
    functions = [one for cls in dict.fromkeys(map(type, own)) for one in vars(cls).values() if inspect.isfunction(one)]
    functions += [one for one in (inspect.unwrap(forward_of(root)),) if inspect.isfunction(one)]
    attributes: dict[str, list[Any]] = {}
    for name, value in (item for module in own for item in vars(module).items()):
        attributes.setdefault(name, []).append(value)
    for function in _with_called(functions):
        for node in ast.walk(tree_of(function.__code__) or ast.Module([], [])):
            if isinstance(node, ast.Compare):
                parts = (part for side in (node.left, *node.comparators) for part in ast.walk(side))
                found += [number for part in parts for number in _numbers(part, function.__globals__, attributes)]
    return list(dict.fromkeys(found))[:MOST_NUMBERS]


def _with_called(functions: list[FunctionType]) -> list[FunctionType]:
    """The functions, and those of the same file that they call by name."""
    known = {function.__code__: function for function in functions}
    waiting = [*known.values()]
    for function in waiting:
        for name in names_used(function.__code__):
            other = function.__globals__.get(name)
            if not isinstance(other, FunctionType) or other.__code__ in known:
                continue
            if other.__code__.co_filename == function.__code__.co_filename:
                known[other.__code__] = other
                waiting.append(other)
    return [*known.values()]


def _numbers(part: ast.AST, names: Mapping[str, Any], attributes: Mapping[str, list[Any]]) -> list[float]:
    """The number that ``part`` is, as well as its negative; those that it may be, for an attribute or a name."""
    match part:
        case ast.Constant(value=value):
            return _plain([value])
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return [-number for number in _plain([value])]
        case ast.Attribute(attr=name):
            return _plain(attributes.get(name, []))
        case ast.Name(id=name):
            return _plain([names.get(name)])
    return []


def _plain(values: list[Any]) -> list[float]:
    return [value for value in values if type(value) in (int, float) and abs(value) <= LARGEST]


def _with_other_weights(first: Input, root: Callable[..., Any], numbers: list[float]) -> Iterator[Input]:
    modules = modules_of(root)[:1]
    if modules and can_change(modules[0]):
        changes = [WeightChange(factor=factor) for factor in WEIGHTS]
        by_size = sorted(modules[0].named_parameters(), key=lambda item: item[1].numel())[:MOST_SHIFTED]
        changes += [WeightChange(shift=shift, only=name) for shift in SHIFTS for name, _ in by_size]
        changes += [WeightChange(factor=0.0, only=name) for name, weight in by_size if weight.numel() == 1]
        if any(not buffer.is_floating_point() or buffer.numel() == 1 for buffer in modules[0].buffers()):
            changes += [WeightChange(filled=beside) for number in numbers for beside in _beside(number, whole=True)]
        yield from (replace(first, weights=change) for change in dict.fromkeys(changes))


def _with_numbers(first: Input, numbers: list[float]) -> Iterator[Input]:
    """``first`` with one of the numbers in a part of each tensor, or of one, or in all of it; or as a number.

    A whole tensor of one number comes last: there, different programs may do the same.
    """
    count = len(tensors_of([*first.args, *first.kwargs.values()]))
    for number in numbers:
        for only in (None, *(range(count) if count > 1 else ())):
            for fill in (_with_first_element, _with_first_row, _near, _filled):
                for whole in (True, False):
                    for value in _beside(number, whole=whole):
                        if given := _mapped(first, partial(fill, value, whole), only):
                            yield given
        for value in _beside(number, whole=True):
            yield from _with_argument(first, value)


def _beside(number: float, *, whole: bool) -> list[float]:
    """``number``, and what is a bit more and less."""
    step = 1 if whole else max(MARGIN * abs(number), 1e-3)
    near = [number, number + step, number - step]
    return [*dict.fromkeys(map(int, near))] if whole else near


def _mapped(first: Input, change: Callable[[torch.Tensor], torch.Tensor], only: int | None = None) -> Input | None:
    """``first`` after a change of its tensors, or of the one with the number ``only``; None if that changes nothing."""
    numbers = itertools.count()
    is_changed = False

    def mapped(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal is_changed
        new = change(tensor) if next(numbers) == only or only is None else tensor
        is_changed |= new is not tensor
        return new

    given = replace(first, args=map_tensors(mapped, first.args), kwargs=map_tensors(mapped, dict(first.kwargs)))
    return given if is_changed else None


def _times(factor: float, tensor: torch.Tensor) -> torch.Tensor:
    return factor * tensor if tensor.is_floating_point() else tensor


def _filled(value: float, whole: bool, tensor: torch.Tensor) -> torch.Tensor:
    return torch.full_like(tensor, value) if _holds(tensor, whole) else tensor


def _near(value: float, whole: bool, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of different numbers near ``value``, if they may have a fraction."""
    if whole or not _holds(tensor, whole):
        return tensor
    noise = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(0)).to(tensor.dtype)
    return value + (noise - 0.5) * max(MARGIN * abs(value), 1e-3)


def _with_first_row(value: float, whole: bool, tensor: torch.Tensor) -> torch.Tensor:
    if not _holds(tensor, whole) or tensor.dim() < 2 or not tensor.numel():
        return tensor
    changed = tensor.clone()
    changed[0] = value
    return changed


def _with_first_element(value: float, whole: bool, tensor: torch.Tensor) -> torch.Tensor:
    if not _holds(tensor, whole) or tensor.dim() < 1 or not tensor.numel():
        return tensor
    changed = tensor.clone()
    changed[(0,) * tensor.dim()] = value
    return changed


def _holds(tensor: torch.Tensor, whole: bool) -> bool:
    """Whether a tensor is one of those that get integers (``whole``), or of those that get numbers with a fraction."""
    is_plain = tensor.layout is torch.strided and not tensor.is_quantized and not tensor.is_complex()
    return is_plain and tensor.is_floating_point() is not whole


def _with_compared_options(
    first: Input, root: Callable[..., Any], fixed: Collection[str], numbers: list[float]
) -> Iterator[Input]:
    """``first`` with one of the numbers for a parameter that it leaves out and that is compared: ``if rate > 0:``."""
    code = getattr(inspect.unwrap(forward_of(root)), "__code__", None)
    tree = None if code is None else tree_of(code)
    compared = {
        side.id
        for node in ast.walk(tree or ast.Module([], []))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], _ORDERS)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Name)
    }
    taken = {*fixed, *first.by_parameter(root)}
    for name, parameter in inspect.signature(forward_of(root)).parameters.items():
        is_number = parameter.default is None or type(parameter.default) in (int, float)
        for number in numbers if is_number and name in compared and name not in taken else ():
            yield replace(first, kwargs={**first.kwargs, name: number})


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
"""Comparisons that only numbers have."""


def _with_argument(first: Input, value: float) -> Iterator[Input]:
    """``first`` with another number instead of each of its integers."""
    for at, argument in enumerate(first.args):
        if type(argument) is int:
            yield replace(first, args=(*first.args[:at], value, *first.args[at + 1 :]))
    for name, argument in first.kwargs.items():
        if type(argument) is int:
            yield replace(first, kwargs={**first.kwargs, name: value})
