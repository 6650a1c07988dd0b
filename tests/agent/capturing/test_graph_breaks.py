"""The runs of a program that find its graph breaks: how often it is run, and how far a run gets."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from fx_lsp.agent.capturing import graph_breaks
from fx_lsp.agent.messages import Failure
from fx_lsp.agent.running.observation import Input


class Lists(torch.nn.Module):
    """Makes two lists whose lengths depend on data, at each of which an operator ends the run."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The rows."""
        sure = x[:, 0] > 0
        if sure.any():
            for a, _ in x[sure].round().long().tolist():
                x = x + a
            for _, b in x[sure].round().long().tolist():
                x = x + b
        return x


@pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")
def test_no_run_is_repeated_more_often_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Failure] = []
    built: list[Lists] = []

    def build() -> Lists:
        built.append(Lists())
        return built[-1]

    monkeypatch.setattr(graph_breaks, "MOST_REPEATS", 0)
    graph_breaks.graph_breaks(build, Input((2 * torch.ones(3, 2),), {}), found.extend)
    assert len(built) <= 5


class Rows(torch.nn.Module):
    """Makes a list whose length depends on data, and decides by a tensor behind that."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A sum."""
        total = x.sum()
        for a, b in x[x[:, 0] > 0].round().long().tolist():
            total = total + a * b
        if total > 1:
            total = total * 2
        return total


@pytest.mark.skipif(torch.__version__ < "2.13", reason="older versions compute no values")
def test_a_run_goes_on_behind_a_list_whose_length_depends_on_data() -> None:
    found: list[Failure] = []
    graph_breaks.graph_breaks(Rows, Input((2 * torch.ones(3, 2),), {}), lambda failures: found.extend(failures))
    first = Rows.forward.__code__.co_firstlineno
    assert {failure.chain[-1].span.line - first for failure in found} == {3, 5}


class Levels(torch.nn.Module):
    """Divides the indices of what it finds, which may be nothing, and decides by their number behind a break."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The levels."""
        if x.sum() > 0:
            x = -x
        found = torch.where(x > 9)[0]
        levels = torch.div(found, 3, rounding_mode="floor")
        if levels.numel() > 4:
            levels = levels[:4]
        return levels


@pytest.mark.skipif(torch.__version__ < "2.13", reason="older versions compute no values")
def test_an_operator_that_makes_tensors_of_its_own_gets_none_with_values() -> None:
    found: list[Sequence[Failure]] = []
    graph_breaks.graph_breaks(Levels, Input((torch.ones(3, 2),), {}), found.append)
    first = Levels.forward.__code__.co_firstlineno
    assert [failure.chain[-1].span.line - first for failure in found[-1]] == [2, 6]


PACKAGE = """\
import torch

class Quiet:
    def __enter__(self):
        torch._dynamo.graph_break()

    def __exit__(self, *error):
        return False

def seen(x):
    with Quiet():
        helper(x)

def helper(x):
    x.sum().item() > 0 or torch._dynamo.graph_break()
"""


class Calls(torch.nn.Module):
    """Calls a package."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The opposite."""
        importlib.import_module("breaking_package").seen(x)
        return -x


@pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")
def test_a_break_in_a_package_counts_where_the_program_calls_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "breaking_package.py"
    file.write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(graph_breaks, "is_installed", str(file).__eq__)
    found: list[Sequence[Failure]] = []
    graph_breaks.graph_breaks(Calls, Input((torch.ones(3),), {}), found.append)
    assert found
    assert all({step.span.file for step in failure.chain} != {str(file)} for failure in found[-1])
