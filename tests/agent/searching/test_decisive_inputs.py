"""Inputs and weights with which a program may decide otherwise."""

from __future__ import annotations

import torch
from torch import nn

from fx_lsp.agent.running.observation import Input, observe
from fx_lsp.agent.running.weight_changes import WeightChange
from fx_lsp.agent.searching.decisive_inputs import compared_numbers, decisive_inputs

LIMIT = 7


def is_large(x: torch.Tensor) -> torch.Tensor:
    return x.abs().max() > LIMIT


class Gate(nn.Module):
    steps: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.threshold = 0.25
        self.unused = 55
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("steps", torch.tensor(3))

    def forward(self, x: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
        if x.mean() > self.threshold or (kind == -100).all() or is_large(x):
            return x * 44 * self.scale
        self.steps = self.steps + 1
        return x


def test_the_numbers_are_those_that_the_program_and_what_it_calls_compares() -> None:
    assert set(compared_numbers(Gate())) == {0, 1, 0.25, 100, -100, LIMIT}


def test_tensors_are_filled_with_such_numbers_as_a_whole_and_in_part() -> None:
    first = Input((torch.randn(2, 3), torch.tensor([[1, 2], [3, 4]])))
    kinds = [given.args[1].tolist() for given in decisive_inputs(first, Gate()) if given.weights is None]
    assert [[-100, -100], [-100, -100]] in kinds
    assert [[-100, -100], [3, 4]] in kinds
    assert [[-100, 2], [3, 4]] in kinds


def test_weights_are_changed_for_one_call() -> None:
    gate = Gate()
    first = Input((torch.full((2, 3), 0.5), torch.tensor([1])))
    changes = [given.weights for given in decisive_inputs(first, gate) if given.weights]
    assert WeightChange(factor=-1.0) in changes
    assert WeightChange(shift=10.0, only="scale") in changes
    assert WeightChange(factor=0.0) not in changes
    assert WeightChange(filled=100) in changes
    given = Input(first.args, weights=WeightChange(factor=10.0, filled=8))
    seen = observe(gate, given, gate, {"scale", "steps"}, gradients=True)
    assert seen.output.eq(220).all()
    assert seen.buffers["steps"] == torch.tensor(8)
    assert (gate.scale.item(), gate.steps.item()) == (1, 3)


def test_a_buffer_that_a_call_replaces_is_put_back() -> None:
    gate = Gate()
    steps = gate.steps
    given = Input((torch.zeros(2, 3), torch.tensor([1])), weights=WeightChange(filled=8))
    seen = observe(gate, given, gate, {"steps"}, gradients=False)
    assert seen.buffers["steps"] == torch.tensor(9)
    assert gate.steps is steps
    assert steps.item() == 3


class Dropping(nn.Module):
    def forward(self, x: torch.Tensor, rate: float | None = None, other: float = 2.0) -> torch.Tensor:
        rate = 0.5 if rate is None else rate
        if rate > 0.25:
            return x * rate
        return x if other is not None else -x


def test_a_number_that_is_left_out_and_compared_is_given() -> None:
    first = Input((torch.randn(2, 3),))
    given = [dict(one.kwargs) for one in decisive_inputs(first, Dropping()) if one.kwargs]
    assert {"rate": 0} in given
    assert {"rate": 0.25} in given
    assert all(one.keys() == {"rate"} for one in given)
    assert not any(one.kwargs for one in decisive_inputs(first, Dropping(), fixed=["rate"]))
