"""Strings that are read from the text of a program."""

from __future__ import annotations

from typing import Any

import torch

from fx_lsp.agent.searching.input_candidates import candidates
from fx_lsp.agent.searching.input_variations import around
from fx_lsp.agent.searching.written_options import written_options


class Loss(torch.nn.Module):
    """Compares three of its arguments with strings."""

    def forward(self, x: Any, reduction: Any, mode: Any = None, kind: str = "a") -> Any:
        """Compute it."""
        if reduction not in ("mean", "sum") or (mode != "train" and x == "no parameter's option"):
            raise ValueError
        return x.mean() if kind == "b" else x * len(x)


def test_options_are_those_that_arguments_are_compared_with() -> None:
    found = written_options(Loss().forward)
    assert {name: found[name] for name in ("reduction", "mode", "kind")} == {
        "reduction": ["mean", "sum"],
        "mode": ["train"],
        "kind": ["b"],
    }


def test_each_option_is_tried() -> None:
    first = next(candidates(Loss(), {}, None, "", {}))
    assert first.by_parameter(Loss())["reduction"] == "mean"
    tried = [given.by_parameter(Loss()) for given in around(first, Loss(), ["mode"])]
    assert {"sum"} == {given["reduction"] for given in tried} - {"mean"}
    assert any(given.get("kind") == "b" for given in tried)
    assert not any("mode" in given for given in tried)
