"""The search for inputs ends by what its runs do, not by the time that they take."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fx_lsp.agent.searching import search_budget
from fx_lsp.agent.searching.search_budget import SearchBudget, TooMuchWork


def runs_until_spent(weight: torch.Tensor, x: torch.Tensor) -> int:
    budget = SearchBudget()
    with budget:
        while budget.may_run():
            torch.nn.functional.linear(x, weight)
    return budget.runs


def test_runs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_budget, "MOST_RUNS", 5)
    assert runs_until_spent(torch.rand(2, 2), torch.rand(2, 2)) == 5


def test_runs_that_are_refused_leave_the_rest_of_the_budget_to_other_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_budget, "MOST_RUNS", 6)
    budget = SearchBudget()
    assert [budget.may_run(1 / 2) for _ in range(20)] == [True] * 3 + [False] * 17
    assert [budget.may_run() for _ in range(5)] == [True] * 3 + [False] * 2


def test_large_runs_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_budget, "MOST_WORK", 10 * (64 * 32 * 2048 + search_budget.CALL))
    assert runs_until_spent(torch.rand(64, 2048), torch.rand(32, 2048)) == 11
    assert runs_until_spent(torch.rand(2, 2), torch.rand(2, 2)) > 50


def often(function: Callable[[torch.Tensor], object], x: torch.Tensor) -> None:
    for _ in range(10):
        function(x)


def test_a_run_that_must_not_exceed_its_share_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_budget, "MOST_WORK", 10 * search_budget.CALL)
    x = torch.rand(2, 2)
    budget = SearchBudget()
    with budget:
        assert budget.may_run(1 / 2, strictly=True)
        with pytest.raises(TooMuchWork):
            often(torch.relu, x)
        assert budget.has_left(1.0)
        assert budget.may_run()
        often(torch.relu, x)  # this run goes on
        assert not budget.may_run()


def test_the_last_call_of_a_run_may_exceed_its_share_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_budget, "MOST_WORK", search_budget.CALL)
    budget = SearchBudget()
    with budget:
        assert budget.may_run(1 / 2, strictly=True)
        with pytest.raises(TooMuchWork):
            torch.relu(X)
        torch.rand(2, 2)  # the search makes the next input


X = torch.rand(2, 10, 32)
COSTLY: dict[str, tuple[Callable[[], object], int]] = {
    "einsum": (lambda: torch.einsum("bix,iox->bo", X, torch.rand(10, 5, 32)), 2 * 5 * 10 * 32),
    "einsum with an ellipsis": (lambda: torch.einsum("...i,io->...o", X, X[0, :, :].T), 2 * 10 * 32 * 10),
    "attention": (lambda: F.scaled_dot_product_attention(X, X, X), 2 * 2 * 10 * 10 * 32),
    "an LSTM": (lambda: nn.LSTM(32, 64, batch_first=True)(X), 2 * 10 * 4 * 64 * (32 + 64)),
    "a product that is added": (lambda: torch.baddbmm(X[..., :5], X, torch.rand(2, 32, 5)), 2 * 10 * 5 * 32),
    "attention with projections": (lambda: nn.MultiheadAttention(32, 4)(X, X, X), 2 * 10 * 32 * 4 * 32),
}


@pytest.mark.parametrize(("run", "operations"), COSTLY.values(), ids=COSTLY)
def test_what_a_function_does_inside_counts(
    run: Callable[[], object], operations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_budget, "CALL", 0)
    monkeypatch.setattr(search_budget, "MOST_WORK", 1)
    budget = SearchBudget()
    with budget:
        run()
    assert budget.operations >= operations
    assert not budget.has_left(operations - 1)
    assert budget.has_left(100 * operations)


def test_one_run_can_be_limited_to_fewer_operations() -> None:
    budget = SearchBudget()
    with budget:
        assert budget.may_run()
        with budget.limited(1000):
            for _ in range(5):  # calls don't count
                torch.ones(10)
            with pytest.raises(TooMuchWork):
                torch.ones(10_000)
        torch.ones(10_000)  # what comes after the run is not


@pytest.mark.parametrize(
    "run",
    [
        lambda: torch.cat([torch.ones(1).expand(10**12)]),
        lambda: torch.ones(1, 2).expand(10**7, 2) @ torch.ones(2, 1).expand(2, 10**7),
    ],
    ids=["copy", "product"],
)
def test_a_call_that_would_exceed_the_limit_of_a_run_is_not_made(run: Callable[[], torch.Tensor]) -> None:
    budget = SearchBudget()
    with budget, budget.limited(10**9), pytest.raises(TooMuchWork):
        run()


def test_a_transposed_convolution_multiplies_each_number_of_its_input_with_a_row_of_weights() -> None:
    weight, budget = torch.rand(3, 5, 64), SearchBudget()
    with budget:
        F.conv_transpose1d(torch.ones(2, 3, 10), weight, stride=16)
    ones = search_budget.WRITTEN * 2 * 3 * 10  # they count, too
    assert budget.operations == 2 * 3 * 10 * 5 * 64 + ones
