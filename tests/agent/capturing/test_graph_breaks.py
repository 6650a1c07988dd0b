"""How often a program is run to find its graph breaks."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.capturing import graph_breaks
from fx_lsp.agent.messages import Failure
from fx_lsp.agent.running.observation import Input


class Lists(torch.nn.Module):
    """Makes lists of as many rows as its input decides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The rows."""
        for least in (0, 1):
            for row in x[x[:, 0] > least].tolist():
                x = x + row[0]
        return x


@pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")
def test_no_run_is_repeated_more_often_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Failure] = []
    built: list[Lists] = []

    def build() -> Lists:
        built.append(Lists())
        return built[-1]

    monkeypatch.setattr(graph_breaks, "MOST_REPEATS", 0)
    graph_breaks.graph_breaks(build, Input([2 * torch.ones(3, 4)], {}), found.extend)
    assert len(built) <= 5
