"""The search for inputs ends by what its runs do, not by the time that they take."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.running import search_budget
from fx_lsp.agent.running.search_budget import SearchBudget


def runs_until_spent(weight: torch.Tensor, x: torch.Tensor) -> int:
    budget = SearchBudget()
    with budget:
        while budget.may_run():
            torch.nn.functional.linear(x, weight)
    return budget.runs


def test_runs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_budget, "MOST_RUNS", 5)
    assert runs_until_spent(torch.rand(2, 2), torch.rand(2, 2)) == 6


def test_large_runs_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_budget, "MOST_WORK", 10 * (64 * 32 * 512 + search_budget.CALL))
    assert runs_until_spent(torch.rand(64, 512), torch.rand(32, 512)) == 12
    assert runs_until_spent(torch.rand(2, 2), torch.rand(2, 2)) > 50
