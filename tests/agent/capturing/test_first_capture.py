"""What the agent does in advance for all captures."""

from __future__ import annotations

import random
import sys

import pytest
import torch

from fx_lsp.agent.capturing.captures import OLDEST
from fx_lsp.agent.capturing.first_capture import capture_sample


def test_it_leaves_no_random_numbers_drawn() -> None:
    before = torch.get_rng_state(), random.getstate()
    capture_sample()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]


@pytest.mark.parametrize("version", [torch.__version__, f"{OLDEST[0]}.{OLDEST[1] - 1}.0"], ids=["this", "older"])
def test_an_error_is_left_to_the_captures(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    monkeypatch.setitem(sys.modules, "fx_lsp.agent.capturing.export_capture", None)
    capture_sample()
