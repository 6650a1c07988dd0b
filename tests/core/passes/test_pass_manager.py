"""Both pass managers run, order and check passes as torch.fx's do."""

from __future__ import annotations

import logging
import random
from functools import partial
from typing import Any

import pytest
import torch
import torch.fx.passes.infra.pass_base
import torch.fx.passes.infra.pass_manager as their_infra
import torch.fx.passes.pass_manager as theirs
from torch import nn

import fxcore
import fxcore.passes.infra.pass_base
import fxcore.passes.infra.pass_manager as our_infra
import fxcore.passes.pass_manager as ours
from tests.core.oracle import attempt

PLAIN: list[Any] = [ours, theirs]
INFRA: list[tuple[Any, Any]] = [(fxcore, our_infra), (torch.fx, their_infra)]


def double(x: int) -> int:
    return 2 * x


def increment(x: int) -> int:
    return x + 1


def square(x: int) -> int:
    return x * x


def test_order_and_edits() -> None:
    for module in PLAIN:
        manager = module.PassManager.build_from_passlist([double, increment])
        assert manager(3) == 7
        manager.add_pass(square)
        assert manager(3) == 49
        manager.replace_pass(double, increment)
        assert manager(3) == 25
        manager.remove_pass(["increment"])
        assert manager(3) == 9
        manager.remove_pass(None)
        assert manager.passes == [square]


@pytest.mark.parametrize("constraint", ["this_before_that_pass_constraint", "these_before_those_pass_constraint"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_constraints(constraint: str, wrapped: bool) -> None:
    for module in PLAIN:
        passes = [module.loop_pass(each, n_iter=2) if wrapped else each for each in (double, increment)]
        manager = module.PassManager(passes)
        manager.add_constraint(getattr(module, constraint)(double, increment))
        assert manager(1) == (6 if wrapped else 3)
        manager.add_constraint(getattr(module, constraint)(increment, double))
        is_seen = not wrapped or constraint.startswith("these")
        result = attempt(partial(manager, 1))
        assert isinstance(result, RuntimeError) if is_seen else result == 6


def test_wrappers(caplog: pytest.LogCaptureFixture) -> None:
    def put(values: dict[str, int], key: str = "a") -> str:
        values[key] = 1
        return f"put {key}"

    for module in PLAIN:
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger=module.__name__):
            wrapped = module.inplace_wrapper(module.log_hook(put, level=logging.WARNING))
            assert wrapped({}, key="b") == {"b": 1}
        assert "put b" in caplog.text
        assert wrapped.__name__ == "put"


def test_loops() -> None:
    for module in PLAIN:
        assert module.loop_pass(double, n_iter=3)(1) == 8
        assert module.loop_pass(double, predicate=lambda x: x < 100)(1) == 128
        assert module.loop_pass(double, predicate=lambda x: x < 0)(1) == 1
        for arguments in ({}, {"n_iter": 1, "predicate": bool}):
            assert isinstance(attempt(partial(module.loop_pass, double, **arguments)), AssertionError)
        assert isinstance(attempt(partial(module.loop_pass(double, n_iter=0), 1)), RuntimeError)


def replaces(fx: Any, old: Any, new: Any) -> Any:
    """A pass that replaces one function with another."""

    def run(module: Any) -> Any:
        nodes = [node for node in module.graph.nodes if node.target is old]
        for node in nodes:
            node.target = new
        return fx.passes.infra.pass_base.PassResult(module, bool(nodes))

    run.__name__ = f"{old.__name__}_to_{new.__name__}"
    return run


def pipeline(x: Any) -> Any:
    return torch.relu(x) + 1


@pytest.mark.parametrize("steps", [None, 1, 2, 10])
def test_until_nothing_changes(steps: int | None) -> None:
    results = []
    for fx, module in INFRA:
        passes = [replaces(fx, torch.sigmoid, torch.tanh), replaces(fx, torch.relu, torch.sigmoid)]
        result = module.PassManager(passes, steps=steps)(fx.symbolic_trace(pipeline))
        results.append((result.graph_module.code, result.modified))
    assert results[0] == results[1]
    assert results[0][1]
    assert ("tanh" in results[0][0]) == (steps in (2, 10))


@pytest.mark.parametrize("seed", range(30))
def test_solving_constraints(seed: int) -> None:
    results = []
    for _, module in INFRA:
        rng = random.Random(seed)
        passes = [partial(lambda index, module: None, index) for index in range(6)]
        manager = module.PassManager(list(passes))
        for _ in range(rng.randint(0, 7)):
            first, second = rng.sample(passes, 2)
            manager.add_constraint(module.this_before_that_pass_constraint(first, second))
        order = attempt(partial(module._topological_sort_passes, manager.passes, manager.constraints))
        valid = [
            attempt(partial(module._validate_pass_schedule_constraint, each, passes)) for each in manager.constraints
        ]
        error = attempt(manager.validate_constraints)
        unsolvable = attempt(manager.solve_constraints)
        results.append((type(error), type(unsolvable), [passes.index(each) for each in manager.passes]))
        assert type(error) is type(next(filter(None, valid), None))
        assert type(order) is type(unsolvable) if unsolvable else order == manager.passes
        if unsolvable is None:
            assert manager.validate_constraints() is None
    assert results[0] == results[1]


def test_checks() -> None:
    for fx, module in INFRA:
        seen: list[str] = []
        passes = [replaces(fx, torch.relu, torch.sigmoid), replaces(fx, torch.sigmoid, torch.tanh)]
        manager = module.PassManager(passes, run_checks_after_each_pass=True)
        manager.add_checks(lambda each: seen.append(each.code))  # noqa: B023
        manager(fx.symbolic_trace(pipeline))
        assert ["relu" in seen[0], "sigmoid" in seen[1], "tanh" in seen[2]] == [True] * 3
        assert len(seen) == 3
        with pytest.raises(TypeError):
            manager.add_checks(lambda one, two: None)


def test_a_failing_pass_is_named() -> None:
    def fails(module: Any) -> Any:
        raise ValueError("no")

    for fx, module in INFRA:
        manager = module.PassManager([replaces(fx, torch.relu, torch.sigmoid), fails])
        error = attempt(partial(manager, fx.symbolic_trace(pipeline)))
        assert type(error) is Exception
        assert "fails" in str(error)
        assert "relu_to_sigmoid" in str(error)
        assert isinstance(error.__cause__, ValueError)
        no_result = attempt(partial(module.PassManager([lambda each: each]), fx.symbolic_trace(pipeline)))
        assert isinstance(no_result.__cause__, TypeError)


def test_wrapped_results() -> None:
    class Callable:
        def __call__(self, module: Any) -> Any:
            return None

    other = nn.ReLU()
    for fx, module in INFRA:
        wrap = module.pass_result_wrapper
        traced = fx.symbolic_trace(pipeline)
        assert tuple(wrap(lambda each: None)(traced)) == (traced, True)
        assert tuple(wrap(lambda each: other)(traced)) == (other, True)
        unchanged = fx.passes.infra.pass_base.PassResult(traced, False)
        assert wrap(lambda each: unchanged)(traced) is unchanged  # noqa: B023
        assert wrap(Callable()).__name__ == "Callable"
        assert wrap(double).__name__ == "double"


def test_pass_base() -> None:
    for fx, _ in INFRA:
        steps: list[str] = []

        base = fx.passes.infra.pass_base.PassBase

        class Pass(base):  # type: ignore[misc, valid-type]
            def requires(self, graph_module: Any) -> None:
                steps.append("requires")  # noqa: B023

            def call(self, graph_module: Any) -> None:
                steps.append("call")  # noqa: B023

            def ensures(self, graph_module: Any) -> None:
                steps.append("ensures")  # noqa: B023

        assert Pass()(fx.symbolic_trace(pipeline)) is None
        assert steps == ["requires", "call", "ensures"]
        with pytest.raises(TypeError):
            base()
