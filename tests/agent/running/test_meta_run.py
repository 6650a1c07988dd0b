"""Running a large model without computing anything."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.running.meta_run import MANY_WEIGHTS, MetaWeights, is_large, to_meta
from fx_lsp.agent.searching.search_budget import SearchBudget
from fx_lsp.agent.searching.solved_inputs import solutions, solutions_on_meta
from fx_lsp.agent.searching.wanted_inputs import Wanted


class Pixels(torch.nn.Module):
    """Accepts only images with ``8 n + 1`` pixels in each dimension, and a label for each pixel."""

    def __init__(self, width: int = 2304) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, width, 3, padding=1), torch.nn.BatchNorm2d(width), torch.nn.Conv2d(width, width, 1)
        )
        self.head = torch.nn.Conv2d(width, 2, 1)
        self.runs = 0

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
        assert (x.size(2) - 1) % 8 == 0
        assert (x.size(3) - 1) % 8 == 0
        self.runs += not x.is_meta
        scores = self.head(self.layers(x))
        assert y is not None
        return torch.nn.functional.cross_entropy(scores, y)


def test_the_shapes_that_a_large_model_accepts_are_found_without_computing() -> None:
    model, near = Pixels(), list[Wanted]()
    assert is_large(model)
    with SearchBudget() as budget:
        given = next(solutions_on_meta(model, {}, budget.may_run, near))
    assert model.runs == 0
    assert given.kwargs["y"].shape == (given.kwargs["x"].shape[0], *given.kwargs["x"].shape[2:])


def test_inputs_with_these_shapes_are_tried_first() -> None:
    model, other, near = Pixels(), Pixels(), list[Wanted]()
    with SearchBudget() as budget:
        next(solutions_on_meta(model, {}, budget.may_run, near))
        given = next(solutions(model, {}, budget.may_run, near))
    with SearchBudget() as budget:
        next(solutions(other, {}, budget.may_run), None)
    assert model.runs < other.runs
    assert model(**given.kwargs).isfinite()


def test_a_small_model_is_run_as_it_is() -> None:
    assert next(solutions_on_meta(Pixels(8), {}, lambda share=1.0: True, []), None) is None


def test_what_a_model_keeps_of_a_run_is_forgotten() -> None:
    class Keeping(torch.nn.Linear):
        scale: torch.Tensor | None = None

        def __init__(self) -> None:
            super().__init__(4, 4)
            self.masks: dict[int, torch.Tensor] = {}
            self.inputs: list[torch.Tensor] = []

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.inputs.append(x)
            if self.scale is None:
                self.scale = torch.ones(4)
            mask = self.masks.setdefault(len(x), torch.ones(len(x), 1))
            return super().forward(x) * self.scale * mask

    model = Keeping()
    with MetaWeights(model).used():
        assert model(to_meta(torch.ones(2, 4))).is_meta
    assert (model.scale, model.masks, model.inputs) == (None, {}, [])
    assert model(torch.ones(2, 4)).isfinite().all()


@pytest.mark.parametrize("fails", [False, True])
def test_the_weights_are_as_before_afterwards(fails: bool) -> None:
    model = Pixels(8)
    before = {**model.state_dict(keep_vars=True)}
    x = to_meta(torch.ones(2, 3, 10 if fails else 9, 9))
    with MetaWeights(model).used():
        if fails:
            with pytest.raises(AssertionError):
                model(x)
        else:
            assert model(x, torch.ones(2, 9, 9, dtype=torch.long)).is_meta
    after = model.state_dict(keep_vars=True)
    assert all(after[name] is weight for name, weight in before.items())
    assert sum(weight.numel() for weight in before.values()) < MANY_WEIGHTS
