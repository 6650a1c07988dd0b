"""What a part of a model is called with is recorded while the model runs."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from fx_lsp.agent.running.observation import Input, call
from fx_lsp.agent.searching.recorded_inputs import recorded_inputs


class Scale(torch.nn.Module):
    """The part."""

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor


class Whole(torch.nn.Module):
    """Calls its part, and then rejects all but vectors of three items."""

    def __init__(self) -> None:
        super().__init__()
        self.part = Scale()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled: torch.Tensor = self.part(x + 1, factor=2.0)
        assert x.shape == (3,)
        return scaled


def halved(x: torch.Tensor) -> torch.Tensor:
    """The part."""
    return x / 2


def of_halves(x: torch.Tensor) -> torch.Tensor:
    """Calls its part, and then rejects all."""
    raise ValueError(halved(x + 1))


def shapes(found: Iterator[Input]) -> list[tuple[int, ...]]:
    return [tuple(given.args[0].shape) for given in found]


def test_what_a_run_calls_the_part_with() -> None:
    whole = Whole()
    (found,) = recorded_inputs(whole.part, whole, [Input((torch.zeros(3),)), Input((torch.ones(3),))])
    assert torch.equal(found.args[0], torch.ones(3))
    assert found.kwargs == {"factor": 2.0}


def test_a_run_that_fails_later_counts() -> None:
    whole = Whole()
    assert shapes(recorded_inputs(whole.part, whole, [Input((torch.zeros(2),))])) == [(2,)]


def test_what_a_run_calls_a_function_with() -> None:
    before = halved
    (found,) = recorded_inputs(halved, of_halves, [Input((torch.zeros(2),))])
    assert torch.equal(found.args[0], torch.ones(2))
    assert halved is before


def test_runs_of_the_search_for_inputs_count_and_come_last() -> None:
    whole = Whole()

    def search() -> Iterator[Input]:
        for size in (1, 2, 5):
            try:
                call(whole, Input((torch.zeros(size),)))
            except AssertionError:
                continue
        yield Input((torch.zeros(3),))

    assert shapes(recorded_inputs(whole.part, whole, search())) == [(3,), (5,), (2,), (1,)]


def test_nothing_is_recorded_afterwards() -> None:
    whole = Whole()
    list(recorded_inputs(whole.part, whole, []))
    assert not whole.part._forward_pre_hooks
