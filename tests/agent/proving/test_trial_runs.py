"""The inputs that a program is tried on."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn import functional as F

from fx_lsp.agent.proving.trial_inputs import InputSearch, searched_inputs
from fx_lsp.agent.proving.trial_programs import Program


class Attention(torch.nn.Module):
    """Attention between all pixels of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(16, 16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute it."""
        pixels = self.conv(x).flatten(2).transpose(1, 2)
        return F.scaled_dot_product_attention(pixels, pixels, pixels)


def test_an_input_that_leads_to_much_attention_is_made_smaller() -> None:
    root: Any = Attention()
    file: Any = SimpleNamespace(workspace=SimpleNamespace(file=__file__), namespace={})
    program = Program(SimpleNamespace(root=root), root, frozenset())  # type: ignore[arg-type]
    inputs, _, _ = searched_inputs(file, program, InputSearch(dict, None, ()))
    (first,) = inputs[0].by_parameter(root).values()
    assert math.prod(first.shape[2:]) <= 16 * 64
