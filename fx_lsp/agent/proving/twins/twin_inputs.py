"""Inputs for a model and its small twins, as far as their shapes go: nothing is computed to find them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

import torch

from fx_lsp.agent.building.constructor_sizes import Sizes
from fx_lsp.agent.proving.run_in_child import ChildRunner
from fx_lsp.agent.random_seeds import seed_all
from fx_lsp.agent.running.meta_run import MetaWeights, to_meta
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors
from fx_lsp.agent.searching.scaled_inputs import scaled_inputs
from fx_lsp.agent.searching.search_budget import SearchBudget
from fx_lsp.agent.searching.solved_inputs import solutions

SHARE = 1 / 2
"""The share of the budget of a search for inputs that is spent on the model itself, and on its twins."""

MOST_SCALED = 12
"""How many inputs of a twin are tried, the likeliest first."""


def input_by_shape(root: Callable[..., Any]) -> Input | None:
    """An input whose shapes ``root`` accepts; None if none is found. ``root`` may reject the values."""
    budget = SearchBudget(SHARE)

    def may_run(share: float = 1.0) -> bool:
        ChildRunner.go_on()
        return budget.may_run(share)

    with budget, suppress(Exception):  # what reads the program's text and attributes may fail on any of them
        return next(solutions(root, {}, may_run, [], computes=False), None)
    return None


def accepts_scaled(twin: Callable[..., Any], sizes: Sizes, given: Input, budget: SearchBudget) -> bool:
    """Whether a ``twin``, a model that was built with ``sizes``, accepts inputs like ``given``, one of the model's.

    Once the ``budget`` is used up, no twin does.
    """
    with suppress(Exception), budget:
        weights = MetaWeights(twin)
        scaled = islice(scaled_inputs(given, {}, sizes), MOST_SCALED)
        return any(budget.may_run() and _runs(twin, weights, one) for one in scaled)
    return False


def _runs(program: Callable[..., Any], weights: MetaWeights, given: Input) -> bool:
    seed_all()
    args, kwargs = map_tensors(to_meta, given.args), map_tensors(to_meta, dict(given.kwargs))
    try:
        with torch.no_grad(), warnings.catch_warnings(), weights.used():
            warnings.simplefilter("ignore")
            program(*args, **kwargs)
    except Exception:
        return False
    return True
