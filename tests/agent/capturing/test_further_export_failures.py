"""Following an export past its failures, without an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import pytest
import torch

from fx_lsp.agent.capturing.further_export_failures import failures_of_export
from fx_lsp.agent.messages import Failure
from fx_lsp.agent.own_files import AGENT_FOLDER
from fx_lsp.agent.running.observation import Input
from fxcore.source import disown


class Branches(torch.nn.Module):
    """Decides by a value."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The rows."""
        return -x if x.sum() > 0 else x


@pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")
def test_a_model_that_is_too_large_for_real_tensors_is_followed_without_them() -> None:
    def real() -> NoReturn:
        raise MemoryError

    disown(AGENT_FOLDER)  # as in an agent
    told: list[Sequence[Failure]] = []
    assert failures_of_export(lambda: (Branches(), Input((torch.ones(3),), {})), real, told.append)
    assert [failure.kind for failure in told[-1]] == ["data-dependent-guard"]
