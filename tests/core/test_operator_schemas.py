"""operator_schemas against torch.fx: the same signatures, and the same normal form of calls."""

import inspect
import operator
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx.operator_schemas as theirs
import torch.nn.functional as F

import fxcore.operator_schemas as ours

x = torch.rand(2, 3)


def described(signature: inspect.Signature) -> tuple[Any, ...]:
    parameters = [(p.name, p.kind, p.default, repr(p.annotation)) for p in signature.parameters.values()]
    return parameters, repr(signature.return_annotation)


def operators() -> list[Callable[..., Any]]:
    names = [name for name in dir(torch) if not name.startswith("_")]
    return [getattr(torch, name) for name in names if inspect.isbuiltin(getattr(torch, name))]


def test_signatures_of_every_operator() -> None:
    compared = 0
    every: list[Any] = [*operators(), torch.ops.aten.add, torch.ops.aten.add.Tensor, torch.ops.aten.uniform_.default]
    for op in every:
        mine, schemas = ours.get_signature_for_torch_op(op, return_schemas=True)
        expected, expected_schemas = theirs.get_signature_for_torch_op(op, return_schemas=True)
        assert (mine is None) == (expected is None), op
        assert list(map(str, schemas or [])) == list(map(str, expected_schemas or []))
        assert list(map(described, mine or [])) == list(map(described, expected or []))
        assert (ours.get_signature_for_torch_op(op) is None) == (theirs.get_signature_for_torch_op(op) is None)
        compared += len(mine or [])
    assert compared > 1000


CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (torch.add, (x, x), {}),
    (torch.add, (x, 2), {"alpha": 3}),
    (torch.relu, (x,), {}),
    (torch.nonzero, (x,), {}),
    (torch.nonzero, (x,), {"as_tuple": True}),
    (torch.ops.aten.add.Tensor, (x, x), {"alpha": 2}),
    (torch.ops.aten.uniform_.default, (x, 0.0, 1.0), {}),
    (F.relu, (x,), {"inplace": True}),
    (F.conv2d, (x, x), {"stride": 2}),
    (F.max_pool2d, (x, 2), {"return_indices": True}),
    (F.dropout, (x,), {}),
    (torch.reshape, (x,), {}),
    (torch.cat, ([x, x],), {"dim": 1}),
    (operator.add, (x, x), {}),
    (print, (x,), {}),
]


@pytest.mark.parametrize("only_kwargs", [False, True])
@pytest.mark.parametrize(("target", "args", "kwargs"), CALLS, ids=lambda value: getattr(value, "__name__", ""))
def test_normalized_arguments_are_those_of_torch_fx(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> None:
    arg_types = tuple(map(type, args))
    kwarg_types = {name: type(value) for name, value in kwargs.items()}
    for types in [(None, None), (arg_types, kwarg_types)]:
        results: list[Any] = []
        for module in (ours, theirs):
            try:
                results.append(module.normalize_function(target, args, kwargs, *types, only_kwargs))
            except (RuntimeError, ValueError) as error:
                results.append(type(error))
        assert results[0] == results[1], types


def test_ambiguous_call_needs_types() -> None:
    with pytest.raises(RuntimeError, match="overloads"):
        ours.normalize_function(torch.add, (x, 2))
    pair = ours.normalize_function(torch.add, (x, 2), None, (torch.Tensor, int))
    assert pair is not None
    assert pair == theirs.normalize_function(torch.add, (x, 2), None, (torch.Tensor, int))  # type: ignore[arg-type]


def test_call_that_fits_nothing() -> None:
    assert ours.normalize_function(torch.relu, (x, x, x)) is None
    with pytest.raises(RuntimeError):
        ours._normalize_function_or_error(torch.relu, (x, x, x))
    with pytest.raises(TypeError):
        ours.normalize_function(F.relu, (x, x, x))


@pytest.mark.parametrize("only_kwargs", [False, True])
def test_modules(only_kwargs: bool) -> None:
    class Own(torch.nn.ReLU):
        pass

    root = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.MultiheadAttention(4, 2), Own())
    for target, args, kwargs in [("0", (x,), {}), ("1", (x, x), {"value": x}), ("2", (x,), {})]:
        mine = ours.normalize_module(root, target, args, kwargs, only_kwargs)
        assert mine == theirs.normalize_module(root, target, args, kwargs, only_kwargs)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="did not have that target"):
        ours.normalize_module(root, "3", (x,))


HINTS: list[Any] = [
    int,
    3,
    [],
    (),
    [int, int],
    (int, bool),
    [bool, int],
    [int, str],
    [torch.Tensor, torch.nn.Parameter],
    [int, "a"],
    [[int], [int]],
]


@pytest.mark.parametrize("hint", HINTS, ids=str)
def test_type_hints(hint: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ours.create_type_hint(hint) == theirs.create_type_hint(hint)


def test_hint_that_fails_warns() -> None:
    with pytest.warns(UserWarning, match="type hint"):
        ours.create_type_hint([int, "a"])


def test_type_matching_of_every_annotation() -> None:
    candidates = [int, float, bool, str, torch.Tensor, torch.nn.Parameter, torch.dtype, type(None), torch.device]
    candidates += [list[int], tuple[int, ...], tuple[int, float], list[torch.Tensor], tuple[torch.Tensor, ...]]
    annotations = {}
    for op in operators():
        for signature in ours.get_signature_for_torch_op(op) or []:
            annotations.update({repr(p.annotation): p.annotation for p in signature.parameters.values()})
    assert len(annotations) > 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for annotation in annotations.values():
            for given in candidates:
                mine, expected = ours.type_matches(annotation, given), theirs.type_matches(annotation, given)
                assert mine == expected, (annotation, given)


def test_mutable_operations() -> None:
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (torch.relu_, (x,), {}),
        (torch.relu, (x,), {}),
        (torch.add, (x, x), {"out": x}),
        (torch.ops.aten.add_.Tensor, (x, x), {}),
        (print, (x,), {}),
    ]
    verdicts = []
    for target, args, kwargs in calls:
        outcomes = []
        for module in (ours, theirs):
            try:
                module.check_for_mutable_operation(target, args, kwargs)
                outcomes.append(False)
            except RuntimeError:
                outcomes.append(True)
        assert outcomes[0] == outcomes[1], target
        verdicts.append(outcomes[0])
    assert verdicts == [True, False, False, True, False]
