"""How often a program is run to find its graph breaks."""

from __future__ import annotations

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
    graph_breaks.graph_breaks(build, Input([2 * torch.ones(3, 2)], {}), found.extend)
    assert len(built) <= 5
